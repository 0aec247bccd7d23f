"""Find what can be imported beneath one folder, and keep within it whatever links say.

An administrator puts collections there; people then choose among what stands there, and type no path.
"""

from __future__ import annotations

import os
from collections.abc import Iterator, Sequence
from dataclasses import dataclass
from pathlib import Path

from curation.records import InvalidInput
from curation.sources.fence import Fence
from curation.sources.vcr import PICTURES
from curation.sources.visual_genome import FOLDERS, IMAGE_DATA

DEEPEST = 3  # folders below the one that is looked through
MOST_SEEN = 20_000  # entries; no page waits for a folder of a million files
MOST_LISTS = 500
_LISTS = {".json", ".txt"}
_PICTURES = {*FOLDERS, PICTURES}


@dataclass(frozen=True, slots=True)
class Found:
    """A folder that holds a collection. ``name`` is relative to the folder of imports; ``files`` are those in it."""

    name: str
    files: frozenset[str]


@dataclass(frozen=True, slots=True)
class Contents:
    """What stands beneath a folder of imports, in the order of its names.

    ``lists`` are JSON and text files by their names relative to it: lists of images, region descriptions, proposals.
    ``is_cut`` when there is more than was looked at.
    """

    visual_genome: Sequence[Found]
    vcr: Sequence[Found]
    lists: Sequence[str]
    is_cut: bool


@dataclass(frozen=True, slots=True)
class _Folder:
    path: Path
    depth: int
    folders: frozenset[str]
    files: frozenset[str]


def look_through(root: Path) -> Contents:
    """Return what can be imported from a folder. What links lead out of it is passed over, as are hidden names.

    Raises:
        InvalidInput: it is no folder, or cannot be read.
    """
    look = _Look(root)
    found = list(look.folders())
    lists = sorted(
        path.relative_to(root).as_posix() for path in _files(found) if path.suffix.lower() in _LISTS
    )
    return Contents(
        visual_genome=[_found(item, root) for item in found if _is_visual_genome(item)],
        vcr=[_found(item, root) for item in found if PICTURES in item.folders],
        lists=lists[:MOST_LISTS],
        is_cut=look.is_cut or len(lists) > MOST_LISTS,
    )


def inside(root: Path, name: str) -> Path:
    """Return where something beneath a folder lies, links followed.

    Raises:
        InvalidInput: that is outside of the folder.
    """
    path = root / name
    Fence(root).check(path)
    return path.resolve()


def _is_visual_genome(folder: _Folder) -> bool:
    return IMAGE_DATA in folder.files and not folder.folders.isdisjoint(FOLDERS)


def _found(folder: _Folder, root: Path) -> Found:
    return Found(folder.path.relative_to(root).as_posix(), folder.files)


def _files(folders: Sequence[_Folder]) -> Iterator[Path]:
    return (folder.path / name for folder in folders for name in folder.files)


class _Look:
    """A walk through the folders, the upper ones first; those of pictures are not entered."""

    def __init__(self, root: Path) -> None:
        self._root = root
        self._fence = Fence(root)
        self._left = MOST_SEEN
        self.is_cut = False

    def folders(self) -> Iterator[_Folder]:
        waiting = [(self._root, 0)]
        while waiting:
            path, depth = waiting.pop(0)
            folder = self._read(path, depth)
            yield folder
            if depth < DEEPEST:
                waiting += [(path / name, depth + 1) for name in sorted(folder.folders - _PICTURES)]

    def _read(self, path: Path, depth: int) -> _Folder:
        folders, files = set(), set()
        try:
            with os.scandir(path) as entries:
                for entry in entries:
                    if not self._left:
                        self.is_cut = True
                        break
                    self._left -= 1
                    if not self._counts(entry):
                        continue
                    if entry.is_dir():
                        folders.add(entry.name)
                    elif entry.is_file():
                        files.add(entry.name)
        except OSError as error:
            if depth == 0:
                raise InvalidInput(
                    f"{path}: cannot be read ({error.strerror}); check the folder of imports"
                ) from error
        return _Folder(path, depth, frozenset(folders), frozenset(files))

    def _counts(self, entry: os.DirEntry[str]) -> bool:
        """Whether an entry may be chosen: named by a text, not hidden, and no link that leads out."""
        readable = not entry.name.startswith(".") and entry.name.isprintable()
        return readable and (not entry.is_symlink() or self._fence.holds(Path(entry.path)))
