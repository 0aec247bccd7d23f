"""Vectors on disk: a folder of shards that a kill cannot tear, and that any program with numpy can read.

    manifest.json      what made the vectors, of what, and every file with its sha256; written last
    items.jsonl        one line a row: {"id": …, "sha256": …}, in the rows' order
    shard-00000.npy    rows 0 to shard_rows - 1, C order; the last shard may be shorter
    shard-00000.json   its rows, dim and sha256, written after it: a shard without this is none

Each file is written beside its place, flushed to the disk and renamed. So a shard that has its note is whole, work
that was stopped goes on at the first missing one, and equal inputs give equal bytes, however often it was stopped.
"""

import hashlib
import json
from collections.abc import Callable, Iterator, Sequence
from dataclasses import asdict, dataclass, field
from pathlib import Path
from typing import Any, BinaryIO

import numpy as np
from numpy.typing import NDArray

from curation.files import file_sha256, whole_file
from curation.records import InvalidInput
from hits.domain.files.atomic_files import PARTIAL

FORMAT = "deerstalker-features/1"
MANIFEST, ITEMS, WHOLE = "manifest.json", "items.jsonl", "vectors.npy"
SHARD_ROWS = 1024

Vectors = NDArray[np.float32]


@dataclass(frozen=True, slots=True)
class Item:
    """What a row describes: a name that means something elsewhere, and a hash of the content."""

    id: str
    sha256: str


@dataclass(frozen=True, slots=True)
class Made:
    """What vectors were made with, and of what. ``items_sha256`` is of the items' hashes in their order."""

    encoder: str
    revision: str
    subject: str
    count: int
    items_sha256: str
    region_mode: str = ""
    preprocessing: dict[str, Any] = field(default_factory=dict)
    shard_rows: int = SHARD_ROWS

    @property
    def shards(self) -> int:
        """How many shards there will be."""
        return -(-self.count // self.shard_rows)

    def rows(self, shard: int) -> range:
        """Return the rows of a shard."""
        start = shard * self.shard_rows
        return range(start, min(start + self.shard_rows, self.count))


@dataclass(frozen=True, slots=True)
class Shard:
    """One file of rows as the manifest names it."""

    file: str
    rows: int
    dim: int
    sha256: str


def fingerprint_of(hashes: Sequence[str]) -> str:
    """Return one sha256 for items in their order, from theirs."""
    return hashlib.sha256("\n".join(hashes).encode()).hexdigest()


class ShardFolder:
    """Where the shards of one set are made. Several processes may work in it at once, each on its own shard."""

    def __init__(self, path: Path) -> None:
        self.path = path

    def write_items(self, items: Sequence[Item]) -> None:
        """Write the items; those of an earlier run are replaced."""
        self.path.mkdir(parents=True, exist_ok=True)
        lines = "".join(json.dumps(asdict(item), ensure_ascii=False) + "\n" for item in items)
        _write_whole(self.path / ITEMS, lambda file: file.write(lines.encode()))

    def items(self, rows: range) -> list[Item]:
        """Return the items of these rows."""
        with (self.path / ITEMS).open(encoding="utf-8") as file:
            return [Item(**json.loads(line)) for row, line in enumerate(file) if row in rows]

    def finished(self, shard: int, rows: int) -> Shard | None:
        """Return a shard that is there, whole, and of so many rows; otherwise ``None``, and it is to be made."""
        found = self._note(shard)
        if found is None or found.rows != rows:
            return None
        try:
            return found if file_sha256(self.path / found.file) == found.sha256 else None
        except OSError:
            return None

    def write(self, shard: int, vectors: NDArray[np.floating]) -> Shard:
        """Write the (rows, dim) vectors of a shard as float32, then its note.

        Raises:
            InvalidInput: not one row of numbers per item, or a row holds NaN or infinity.
        """
        rows = np.ascontiguousarray(vectors, dtype=np.float32)
        if rows.ndim != 2 or not np.isfinite(rows).all():  # noqa: PLR2004 - rows and columns
            raise InvalidInput(f"shard {shard}: the encoder gave no finite row for every item")
        path = self.path / f"{_name(shard)}.npy"
        path.parent.mkdir(parents=True, exist_ok=True)
        _write_whole(path, lambda file: np.save(file, rows, allow_pickle=False))
        made = Shard(path.name, len(rows), rows.shape[1], file_sha256(path))
        _write_json(path.with_suffix(".json"), asdict(made))
        return made

    def missing(self, made: Made) -> list[int]:
        """Return the shards that are still to be made."""
        return [n for n in range(made.shards) if self.finished(n, len(made.rows(n))) is None]

    def seal(self, made: Made) -> str:
        """Write the manifest and return its sha256.

        Raises:
            InvalidInput: a shard is missing or torn, or shards differ in their dimension.
        """
        shards = [self.finished(n, len(made.rows(n))) for n in range(made.shards)]
        whole = [shard for shard in shards if shard is not None]
        if len(whole) < made.shards:
            raise InvalidInput(f"{self.path}: {made.shards - len(whole)} shards are missing; make them first")
        dims = {shard.dim for shard in whole}
        if len(dims) > 1:
            raise InvalidInput(f"{self.path}: shards of {sorted(dims)} dimensions; delete the folder")
        described = asdict(made)
        manifest = {
            "format": FORMAT,
            **described,
            "precision": made.preprocessing.get("precision", ""),
            "dim": dims.pop() if dims else 0,
            "dtype": "float32",
            "items": {"file": ITEMS, "sha256": file_sha256(self.path / ITEMS)},
            "shards": [{"file": s.file, "rows": s.rows, "sha256": s.sha256} for s in whole],
        }
        self._tidy()
        _write_json(self.path / MANIFEST, manifest)
        return file_sha256(self.path / MANIFEST)

    def _note(self, shard: int) -> Shard | None:
        try:
            return Shard(**json.loads((self.path / f"{_name(shard)}.json").read_text("utf-8")))
        except (OSError, ValueError, TypeError):
            return None

    def _tidy(self) -> None:
        """Remove what killed processes left, and one file of shards that may have been made anew."""
        for path in [*self.path.glob(f"*{PARTIAL}"), self.path / WHOLE]:
            path.unlink(missing_ok=True)


class ShardedVectors:
    """The shards of a sealed folder as one (n, d) array that is read from the disk as needed."""

    def __init__(self, folder: Path, manifest: dict[str, Any]) -> None:
        self.folder = folder
        self.manifest = manifest
        self.shape = (int(manifest["count"]), int(manifest["dim"]))
        self.dtype = np.dtype(manifest["dtype"])
        self._starts = np.cumsum([0, *(shard["rows"] for shard in manifest["shards"])])
        self._maps: list[NDArray[Any]] = [
            _mapped(folder / shard["file"], (shard["rows"], self.shape[1])) for shard in manifest["shards"]
        ]

    def __len__(self) -> int:
        """How many rows there are."""
        return self.shape[0]

    def __getitem__(self, rows: slice) -> NDArray[Any]:
        """Return a range of rows; one that lies within a shard is not copied."""
        return self._range(*rows.indices(len(self))[:2]) if rows.step in (None, 1) else self._stepped(rows)

    def take(self, rows: NDArray[np.integer]) -> NDArray[Any]:
        """Return the named rows, in the order named; each shard is touched once."""
        wanted = np.asarray(rows, dtype=np.int64)
        if wanted.size and (wanted.min() < 0 or wanted.max() >= len(self)):
            raise IndexError(f"rows are 0 to {len(self) - 1}")
        found = np.empty((len(wanted), self.shape[1]), dtype=self.dtype)
        place = np.searchsorted(self._starts, wanted, side="right") - 1
        for shard in np.unique(place).tolist():
            here = place == shard
            found[here] = self._maps[shard][wanted[here] - self._starts[shard]]
        return found

    def blocks(self, rows: int = SHARD_ROWS) -> Iterator[NDArray[Any]]:
        """Yield all rows in blocks of ``rows``, the last may be shorter."""
        for start in range(0, len(self), rows):
            yield self[start : start + rows]

    def ids(self) -> list[str]:
        """Return the items' ids in the order of the rows."""
        return [item.id for item in ShardFolder(self.folder).items(range(len(self)))]

    def memory_map(self) -> NDArray[Any]:
        """Return one read-only (n, d) memory map.

        Several shards are first written as one file beside them, a shard at a time, and once for all.
        """
        if len(self._maps) == 1:
            return self._maps[0]
        path = self.folder / WHOLE
        if not _is_array(path, self.shape):
            _write_whole(path, self._write_all)
        return _mapped(path, self.shape)

    def _write_all(self, file: BinaryIO) -> None:
        header = {
            "descr": np.lib.format.dtype_to_descr(self.dtype),
            "fortran_order": False,
            "shape": self.shape,
        }
        np.lib.format.write_array_header_1_0(file, header)
        for part in self._maps:
            file.write(part.tobytes())

    def _range(self, start: int, stop: int) -> NDArray[Any]:
        first = int(np.searchsorted(self._starts, start, side="right")) - 1
        if first < len(self._maps) and stop <= self._starts[first + 1]:
            return self._maps[first][start - self._starts[first] : max(start, stop) - self._starts[first]]
        return self.take(np.arange(start, stop))

    def _stepped(self, rows: slice) -> NDArray[Any]:
        return self.take(np.arange(len(self))[rows])


def open_features(folder: Path, *, manifest_sha256: str = "", verify: bool = True) -> ShardedVectors:
    """Open a sealed folder for reading.

    Args:
        manifest_sha256: what the manifest has to hash to, where that is known.
        verify: read every file once and compare it with its sha256.

    Raises:
        InvalidInput: no manifest, another one, or a file that is missing or not as it was written.
    """
    path = folder / MANIFEST
    try:
        manifest = json.loads(path.read_text("utf-8"))
        if manifest_sha256 and file_sha256(path) != manifest_sha256:
            raise InvalidInput(f"{path}: is not the manifest that was sealed; make the features anew")
        if manifest.get("format") != FORMAT:
            raise InvalidInput(f"{path}: format {manifest.get('format')!r}; this reads {FORMAT}")
        for entry in [manifest["items"], *manifest["shards"]] if verify else []:
            if file_sha256(folder / entry["file"]) != entry["sha256"]:
                raise InvalidInput(f"{folder / entry['file']}: is torn or replaced; make the features anew")
        return ShardedVectors(folder, manifest)
    except (OSError, ValueError, KeyError, AttributeError) as error:
        if isinstance(error, InvalidInput):
            raise
        raise InvalidInput(f"{folder}: holds no whole feature set ({error}); make it anew") from error


def _name(shard: int) -> str:
    return f"shard-{shard:05d}"


def _mapped(path: Path, shape: tuple[int, int]) -> NDArray[Any]:
    array: NDArray[Any] = np.load(path, mmap_mode="r", allow_pickle=False)
    if array.shape != shape:
        raise InvalidInput(f"{path}: shape {array.shape} instead of {shape}; make the features anew")
    return array


def _is_array(path: Path, shape: tuple[int, int]) -> bool:
    try:
        _mapped(path, shape)
    except (OSError, ValueError):
        return False
    return True


def _write_json(path: Path, value: dict[str, Any]) -> None:
    text = json.dumps(value, indent=1, sort_keys=True, ensure_ascii=False) + "\n"
    _write_whole(path, lambda file: file.write(text.encode()))


def _write_whole(path: Path, write: Callable[[BinaryIO], object]) -> None:
    """Write a file that is there as a whole or not at all, also after a power failure.

    Raises:
        InvalidInput: the folder is missing, full or not writable.
    """
    try:
        with whole_file(path) as file:
            write(file)
    except OSError as error:
        raise InvalidInput(f"{path}: cannot be written ({error.strerror}); make room or mend it") from error
