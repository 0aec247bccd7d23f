"""Vectors on disk: a folder of shards, written atomically, which any program with numpy can read.

    manifest.json      encoder, items and the SHA-256 of every file; written last
    items.jsonl        one line per row: {"id": …, "sha256": …}, in the rows' order
    shard-00000.npy    rows 0 to shard_rows - 1, C order; the last shard may be shorter
    shard-00000.json   its rows, dim and sha256; written after the shard, which is invalid without it

Each file is written under a temporary name, synced to disk and renamed. So a shard with its JSON file is complete, a
stopped job resumes at the first missing shard, and equal inputs give equal bytes despite interruptions.
"""

import hashlib
import json
from collections.abc import Callable, Iterator, Sequence
from dataclasses import asdict, dataclass, field
from pathlib import Path
from typing import Any, BinaryIO

import numpy as np
from numpy.typing import NDArray

from curation.files import atomic_file, file_sha256
from curation.records import InvalidInput
from hits.domain.files.atomic_files import PARTIAL_SUFFIX

FORMAT = "deerstalker-features/1"
MANIFEST_FILE, ITEMS_FILE, MERGED_FILE = "manifest.json", "items.jsonl", "vectors.npy"
SHARD_ROWS = 1024

Vectors = NDArray[np.float32]


@dataclass(frozen=True, slots=True)
class EncodedItem:
    """The image, region or text of a row: its id outside of the feature set, and a hash of its content."""

    id: str
    sha256: str


@dataclass(frozen=True, slots=True)
class FeatureSpec:
    """The specification of a feature set. ``items_sha256``: over the items' hashes in order."""

    encoder: str
    revision: str
    subject: str
    count: int
    items_sha256: str
    region_mode: str = ""
    preprocessing: dict[str, Any] = field(default_factory=dict)
    shard_rows: int = SHARD_ROWS

    @property
    def shard_count(self) -> int:
        """Number of shards."""
        return -(-self.count // self.shard_rows)

    def rows(self, shard: int) -> range:
        """Return the rows of a shard."""
        start = shard * self.shard_rows
        return range(start, min(start + self.shard_rows, self.count))


@dataclass(frozen=True, slots=True)
class Shard:
    """A shard's file name, shape and hash."""

    file: str
    rows: int
    dim: int
    sha256: str


def combine_hashes(hashes: Sequence[str]) -> str:
    """Return one SHA-256 over the items' hashes in order."""
    return hashlib.sha256("\n".join(hashes).encode()).hexdigest()


class ShardFolder:
    """The folder of a feature set's shards. Several processes may write different shards at the same time."""

    def __init__(self, path: Path) -> None:
        self.path = path

    def write_items(self, items: Sequence[EncodedItem]) -> None:
        """Write the items, replacing those of an earlier run."""
        self.path.mkdir(parents=True, exist_ok=True)
        lines = "".join(json.dumps(asdict(item), ensure_ascii=False) + "\n" for item in items)
        _write_atomically(self.path / ITEMS_FILE, lambda file: file.write(lines.encode()))

    def items(self, rows: range) -> list[EncodedItem]:
        """Return the items of these rows."""
        with (self.path / ITEMS_FILE).open(encoding="utf-8") as file:
            return [EncodedItem(**json.loads(line)) for row, line in enumerate(file) if row in rows]

    def find_finished(self, shard: int, rows: int) -> Shard | None:
        """Return a shard if it is complete and has this many rows; otherwise ``None``."""
        shard_info = self._read_shard_info(shard)
        if shard_info is None or shard_info.rows != rows:
            return None
        try:
            return shard_info if file_sha256(self.path / shard_info.file) == shard_info.sha256 else None
        except OSError:
            return None

    def write(self, shard: int, vectors: NDArray[np.floating]) -> Shard:
        """Write the (rows, dim) vectors of a shard as float32, then its JSON file.

        Raises:
            InvalidInput: not two-dimensional, or a row contains NaN or infinity.
        """
        rows = np.ascontiguousarray(vectors, dtype=np.float32)
        if rows.ndim != 2 or not np.isfinite(rows).all():  # noqa: PLR2004 - rows and columns
            raise InvalidInput(f"shard {shard}: the encoder did not return a finite vector for every item")
        path = self.path / f"{_shard_name(shard)}.npy"
        path.parent.mkdir(parents=True, exist_ok=True)
        _write_atomically(path, lambda file: np.save(file, rows, allow_pickle=False))
        shard_info = Shard(path.name, len(rows), rows.shape[1], file_sha256(path))
        _write_json(path.with_suffix(".json"), asdict(shard_info))
        return shard_info

    def missing_shards(self, spec: FeatureSpec) -> list[int]:
        """Return the numbers of the shards that are missing or damaged."""
        return [n for n in range(spec.shard_count) if self.find_finished(n, len(spec.rows(n))) is None]

    def seal(self, spec: FeatureSpec) -> str:
        """Write the manifest and return its sha256.

        Raises:
            InvalidInput: a shard is missing or damaged, or shards differ in their dimension.
        """
        shards = [self.find_finished(n, len(spec.rows(n))) for n in range(spec.shard_count)]
        complete = [shard for shard in shards if shard is not None]
        if len(complete) < spec.shard_count:
            raise InvalidInput(
                f"{self.path}: {spec.shard_count - len(complete)} shards are missing; make them"
            )
        dims = {shard.dim for shard in complete}
        if len(dims) > 1:
            raise InvalidInput(f"{self.path}: shards of {sorted(dims)} dimensions; delete the folder")
        fields = asdict(spec)
        manifest = {
            "format": FORMAT,
            **fields,
            "precision": spec.preprocessing.get("precision", ""),
            "dim": dims.pop() if dims else 0,
            "dtype": "float32",
            "items": {"file": ITEMS_FILE, "sha256": file_sha256(self.path / ITEMS_FILE)},
            "shards": [{"file": s.file, "rows": s.rows, "sha256": s.sha256} for s in complete],
        }
        self._remove_leftovers()
        _write_json(self.path / MANIFEST_FILE, manifest)
        return file_sha256(self.path / MANIFEST_FILE)

    def _read_shard_info(self, shard: int) -> Shard | None:
        try:
            return Shard(**json.loads((self.path / f"{_shard_name(shard)}.json").read_text("utf-8")))
        except (OSError, ValueError, TypeError):
            return None

    def _remove_leftovers(self) -> None:
        """Delete temporary files of killed processes, and a merged file of earlier shards."""
        for path in [*self.path.glob(f"*{PARTIAL_SUFFIX}"), self.path / MERGED_FILE]:
            path.unlink(missing_ok=True)


class ShardedVectors:
    """The shards of a sealed folder as one (n, d) array, read from disk on demand."""

    def __init__(self, folder: Path, manifest: dict[str, Any]) -> None:
        self.folder = folder
        self.manifest = manifest
        self.shape = (int(manifest["count"]), int(manifest["dim"]))
        self.dtype = np.dtype(manifest["dtype"])
        self._starts = np.cumsum([0, *(shard["rows"] for shard in manifest["shards"])])
        self._maps: list[NDArray[Any]] = [
            _open_memory_map(folder / shard["file"], (shard["rows"], self.shape[1]))
            for shard in manifest["shards"]
        ]

    def __len__(self) -> int:
        """Number of rows."""
        return self.shape[0]

    def __getitem__(self, rows: slice) -> NDArray[Any]:
        """Return a range of rows, without a copy if it lies within one shard."""
        if rows.step in (None, 1):
            return self._take_range(*rows.indices(len(self))[:2])
        return self.take(np.arange(len(self))[rows])

    def take(self, rows: NDArray[np.integer]) -> NDArray[Any]:
        """Return the rows of these indices, in their order; each shard is read once."""
        indices = np.asarray(rows, dtype=np.int64)
        if indices.size and (indices.min() < 0 or indices.max() >= len(self)):
            raise IndexError(f"rows are 0 to {len(self) - 1}")
        vectors = np.empty((len(indices), self.shape[1]), dtype=self.dtype)
        shards = np.searchsorted(self._starts, indices, side="right") - 1
        for shard in np.unique(shards).tolist():
            in_shard = shards == shard
            vectors[in_shard] = self._maps[shard][indices[in_shard] - self._starts[shard]]
        return vectors

    def blocks(self, rows: int = SHARD_ROWS) -> Iterator[NDArray[Any]]:
        """Yield all rows in blocks of ``rows``, the last may be shorter."""
        for start in range(0, len(self), rows):
            yield self[start : start + rows]

    def ids(self) -> list[str]:
        """Return the items' ids in the order of the rows."""
        return [item.id for item in ShardFolder(self.folder).items(range(len(self)))]

    def memory_map(self) -> NDArray[Any]:
        """Return one read-only (n, d) memory map.

        Several shards are first merged into one file, a shard at a time; later calls reuse it.
        """
        if len(self._maps) == 1:
            return self._maps[0]
        path = self.folder / MERGED_FILE
        if not _has_array(path, self.shape):
            _write_atomically(path, self._write_all)
        return _open_memory_map(path, self.shape)

    def _write_all(self, file: BinaryIO) -> None:
        descr = np.lib.format.dtype_to_descr(self.dtype)
        header = {"descr": descr, "fortran_order": False, "shape": self.shape}
        np.lib.format.write_array_header_1_0(file, header)
        for part in self._maps:
            file.write(part.tobytes())

    def _take_range(self, start: int, stop: int) -> NDArray[Any]:
        first = int(np.searchsorted(self._starts, start, side="right")) - 1
        if first < len(self._maps) and stop <= self._starts[first + 1]:
            return self._maps[first][start - self._starts[first] : max(start, stop) - self._starts[first]]
        return self.take(np.arange(start, stop))


def open_features(folder: Path, *, manifest_sha256: str = "", verify: bool = True) -> ShardedVectors:
    """Open a sealed folder for reading.

    Args:
        manifest_sha256: the expected hash of the manifest, if known.
        verify: read every file and compare its SHA-256.

    Raises:
        InvalidInput: no manifest, another one, or a file that is missing or changed.
    """
    path = folder / MANIFEST_FILE
    try:
        manifest = json.loads(path.read_text("utf-8"))
        if manifest_sha256 and file_sha256(path) != manifest_sha256:
            raise InvalidInput(f"{path}: is not the sealed manifest; make the features again")
        if manifest.get("format") != FORMAT:
            raise InvalidInput(f"{path}: format {manifest.get('format')!r}; this reads {FORMAT}")
        for entry in [manifest["items"], *manifest["shards"]] if verify else []:
            if file_sha256(folder / entry["file"]) != entry["sha256"]:
                path = folder / entry["file"]
                raise InvalidInput(f"{path}: is damaged or replaced; make the features again")
        return ShardedVectors(folder, manifest)
    except (OSError, ValueError, KeyError, AttributeError) as error:
        if isinstance(error, InvalidInput):
            raise
        raise InvalidInput(f"{folder}: is not a complete feature set ({error}); make it again") from error


def _shard_name(shard: int) -> str:
    return f"shard-{shard:05d}"


def _open_memory_map(path: Path, shape: tuple[int, int]) -> NDArray[Any]:
    array: NDArray[Any] = np.load(path, mmap_mode="r", allow_pickle=False)
    if array.shape != shape:
        raise InvalidInput(f"{path}: shape {array.shape} instead of {shape}; make the features again")
    return array


def _has_array(path: Path, shape: tuple[int, int]) -> bool:
    try:
        _open_memory_map(path, shape)
    except (OSError, ValueError):
        return False
    return True


def _write_json(path: Path, value: dict[str, Any]) -> None:
    text = json.dumps(value, indent=1, sort_keys=True, ensure_ascii=False) + "\n"
    _write_atomically(path, lambda file: file.write(text.encode()))


def _write_atomically(path: Path, write: Callable[[BinaryIO], object]) -> None:
    """Write a file atomically, also in a power failure.

    Raises:
        InvalidInput: the folder is missing, full or not writable.
    """
    try:
        with atomic_file(path) as file:
            write(file)
    except OSError as error:
        raise InvalidInput(
            f"{path}: cannot be written ({error.strerror}); free disk space or check the permissions"
        ) from error
