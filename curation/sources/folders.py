"""Find importable collections below one folder, without following links out of it.

An administrator puts collections there; users choose among them and type no path.
"""

import os
from collections.abc import Container, Iterator, Sequence
from dataclasses import dataclass
from pathlib import Path

from curation.records import InvalidInput
from curation.sources.clips import CLIP_SUFFIXES
from curation.sources.path_sandbox import PathSandbox
from curation.sources.vcr import IMAGES_FOLDER
from curation.sources.visual_genome import IMAGE_DATA, IMAGE_FOLDERS

MAX_DEPTH = 3  # levels of folders below the scanned one
MAX_ENTRIES = 20_000  # entries; a page must not wait for a folder of a million files
MAX_LISTS = 500
_LIST_SUFFIXES = {".json", ".txt"}
_CAPTION_SUFFIXES = {".csv", ".tsv", ".tab", ".srt", ".vtt"}
_IMAGE_FOLDERS = {*IMAGE_FOLDERS, IMAGES_FOLDER}


@dataclass(frozen=True, slots=True)
class FoundCollection:
    """A folder with a collection. ``name``: relative to the import folder; ``files``: the files in it."""

    name: str
    files: frozenset[str]


@dataclass(frozen=True, slots=True)
class ImportableContents:
    """The contents of an import folder, sorted by name.

    ``lists``: JSON and text files, relative to it: lists of images, region descriptions, proposals. ``is_cut``:
    whether the scan stopped at a limit. ``clips``: film clips. ``captions``: files of captions of clips.
    """

    visual_genome: Sequence[FoundCollection]
    vcr: Sequence[FoundCollection]
    lists: Sequence[str]
    is_cut: bool
    clips: Sequence[str] = ()
    captions: Sequence[str] = ()


@dataclass(frozen=True, slots=True)
class _Folder:
    path: Path
    depth: int
    folders: frozenset[str]
    files: frozenset[str]


def scan_folder(root: Path) -> ImportableContents:
    """Return what can be imported from a folder. Links that lead out of it and hidden names are skipped.

    Raises:
        InvalidInput: it is not a folder, or cannot be read.
    """
    scan = _FolderScan(root)
    read_folders = list(scan.folders())
    files = [(folder.path / name).relative_to(root) for folder in read_folders for name in folder.files]

    def names(suffixes: Container[str]) -> list[str]:
        return sorted(path.as_posix() for path in files if path.suffix.lower() in suffixes)

    lists, clips, captions = names(_LIST_SUFFIXES), names(CLIP_SUFFIXES), names(_CAPTION_SUFFIXES)
    return ImportableContents(
        visual_genome=[_to_collection(item, root) for item in read_folders if _is_visual_genome(item)],
        vcr=[_to_collection(item, root) for item in read_folders if IMAGES_FOLDER in item.folders],
        lists=lists[:MAX_LISTS],
        is_cut=scan.is_cut or max(len(lists), len(clips), len(captions)) > MAX_LISTS,
        clips=clips[:MAX_LISTS],
        captions=captions[:MAX_LISTS],
    )


def resolve_inside(root: Path, name: str) -> Path:
    """Return the path of a name below a folder, with links resolved.

    Raises:
        InvalidInput: the path is outside of the folder.
    """
    path = root / name
    PathSandbox(root).check(path)
    return path.resolve()


def _is_visual_genome(folder: _Folder) -> bool:
    return IMAGE_DATA in folder.files and not folder.folders.isdisjoint(IMAGE_FOLDERS)


def _to_collection(folder: _Folder, root: Path) -> FoundCollection:
    return FoundCollection(folder.path.relative_to(root).as_posix(), folder.files)


class _FolderScan:
    """A breadth-first walk through the folders, except image folders."""

    def __init__(self, root: Path) -> None:
        self._root = root
        self._sandbox = PathSandbox(root)
        self._entries_left = MAX_ENTRIES
        self.is_cut = False

    def folders(self) -> Iterator[_Folder]:
        queue = [(self._root, 0)]
        while queue:
            path, depth = queue.pop(0)
            folder = self._read(path, depth)
            yield folder
            if depth < MAX_DEPTH:
                queue += [(path / name, depth + 1) for name in sorted(folder.folders - _IMAGE_FOLDERS)]

    def _read(self, path: Path, depth: int) -> _Folder:
        folders, files = set(), set()
        try:
            with os.scandir(path) as entries:
                for entry in entries:
                    if not self._entries_left:
                        self.is_cut = True
                        break
                    self._entries_left -= 1
                    if not self._is_selectable(entry):
                        continue
                    if entry.is_dir():
                        folders.add(entry.name)
                    elif entry.is_file():
                        files.add(entry.name)
        except OSError as error:
            if depth == 0:
                raise InvalidInput(
                    f"{path}: cannot be read ({error.strerror}); check the import folder"
                ) from error
        return _Folder(path, depth, frozenset(folders), frozenset(files))

    def _is_selectable(self, entry: os.DirEntry[str]) -> bool:
        """Whether an entry may be chosen: printable name, not hidden, not a link that leads out."""
        readable = not entry.name.startswith(".") and entry.name.isprintable()
        return readable and (not entry.is_symlink() or self._sandbox.contains(Path(entry.path)))
