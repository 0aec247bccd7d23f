"""Find film clips: one file, or all clips below a folder."""

import os
from collections.abc import Iterator
from pathlib import Path

from curation.records import InvalidInput

CLIP_SUFFIXES = frozenset(
    {".mp4", ".m4v", ".mov", ".mkv", ".webm", ".avi", ".mpg", ".mpeg", ".ts", ".ogv", ".flv", ".wmv"}
)
MAX_CLIPS = 200_000  # LSMDC has 128,000


def find_clip_files(path: Path) -> list[Path]:
    """Return a clip, or the clips below a folder, sorted by path. Hidden files and linked folders are left out.

    Raises:
        InvalidInput: there is no such file, no clip, or too many of them.
    """
    if path.is_file():
        return [path]
    if not path.is_dir():
        raise InvalidInput(f"{path}: there is no such clip or folder; check the path")
    found: list[Path] = []
    for clip in _walk(path):
        found.append(clip)
        if len(found) > MAX_CLIPS:
            raise InvalidInput(f"{path}: has more than {MAX_CLIPS:,} clips; give smaller folders")
    if not found:
        suffixes = ", ".join(sorted(CLIP_SUFFIXES))
        raise InvalidInput(f"{path}: has no clip; clips end in {suffixes}")
    return sorted(found)


def _walk(folder: Path) -> Iterator[Path]:
    for parent, folders, files in os.walk(folder):
        folders[:] = [name for name in folders if not name.startswith(".")]
        for name in files:
            if not name.startswith(".") and Path(name).suffix.lower() in CLIP_SUFFIXES:
                yield Path(parent) / name
