"""Read a retrieval key as a table: a million pairs without a Python object for each.

Test ids and instance ids are 32 hex digits, so all entries of a key have the same length and its file is a table of
bytes. Three columns are ids, and the other bytes are equal in all rows. A file with any deviation is not a table, and
is parsed as normal JSON.
"""

import re
from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass, field
from typing import overload

import numpy as np
from numpy.typing import NDArray

_SPACE = rb"[ \t\n\r]*"  # JSON's whitespace, a subset of \s
_OPENING_PATTERN = re.compile(_SPACE + rb"\{" + _SPACE)
_CLOSING_PATTERN = re.compile(_SPACE + rb"\}" + _SPACE + rb"\Z")
_ENTRY_PATTERN = re.compile(rb'"([^"]+)"_:_\[_"([^"]+)"_,_"([^"]+)"_\](_,_)'.replace(b"_", _SPACE))
_BETWEEN = 4  # the group of the text between two entries
_QUOTES = 6  # quotes per entry
_SEARCH_BYTES = 4096  # the first entry ends within this many bytes
_PREFIX = 8  # bytes of an id that are compared first in sorting
_PRINTABLE = (0x20, 0x7E)
IdBytes = NDArray[np.bytes_]


@dataclass(frozen=True, slots=True)
class IdColumn(Sequence[str]):
    """Distinct ids. values: (n,) bytes. order: (n,), the positions of the ids in sorted order."""

    values: IdBytes
    order: NDArray[np.intp]

    def __len__(self) -> int:
        return len(self.values)

    @overload
    def __getitem__(self, index: int) -> str: ...

    @overload
    def __getitem__(self, index: slice) -> Sequence[str]: ...

    def __getitem__(self, index: int | slice) -> str | Sequence[str]:
        if isinstance(index, slice):
            return [value.decode() for value in self.values[index].tolist()]
        return bytes(self.values[index]).decode()

    def __iter__(self) -> Iterator[str]:
        return map(bytes.decode, self.values.tolist())


@dataclass(slots=True)
class PairTable(Mapping[str, list[str]]):
    """``{test id: [image, inference]}`` as columns of bytes, (n,) each; entries are created on demand."""

    test_ids: IdColumn
    images: IdBytes
    inferences: IdBytes
    _entries: dict[str, list[str]] = field(default_factory=dict)

    def __len__(self) -> int:
        return len(self.test_ids)

    def __iter__(self) -> Iterator[str]:
        return iter(self.test_ids)

    def __getitem__(self, test_id: str) -> list[str]:
        if not self._entries:
            pairs = zip(self.images.tolist(), self.inferences.tolist(), strict=True)
            rows = zip(self.test_ids, pairs, strict=True)
            self._entries = {name: [image.decode(), inference.decode()] for name, (image, inference) in rows}
        return self._entries[test_id]

    def instance_positions(self) -> tuple[tuple[str, ...], NDArray[np.intp], NDArray[np.intp]] | None:
        """Return the sorted instances, and the position of each row's image and inference among them, (n,) each.

        Return ``None`` if an inference belongs to no image, or ids share a prefix: then callers compare whole ids.
        """
        starts, first, rows = np.unique(_prefixes(self.images), return_index=True, return_inverse=True)
        names = self.images[first]
        prefixes = _prefixes(self.inferences)
        columns = np.minimum(np.searchsorted(starts, prefixes), len(starts) - 1)
        if (names[rows] != self.images).any() or (names[columns] != self.inferences).any():
            return None
        return tuple(name.decode() for name in names.tolist()), rows.astype(np.intp), columns


def parse_pair_table(data: bytes) -> PairTable | None:
    """Parse a file as a table; ``None`` if it is not a table, repeats a test id, or has ids below 8 characters."""
    opening = _OPENING_PATTERN.match(data)
    closing = _CLOSING_PATTERN.search(data, max(0, len(data) - _SEARCH_BYTES))
    entry = _ENTRY_PATTERN.match(data[: opening.end() + _SEARCH_BYTES], opening.end()) if opening else None
    if opening is None or closing is None or entry is None:
        return None
    start, stride, between = opening.end(), entry.end() - opening.end(), entry[_BETWEEN]
    count, rest = divmod(closing.start() + len(between) - start, stride)  # the last entry has no separator
    if rest or data.count(b'"') != _QUOTES * count or b"\\" in data:
        return None
    last = np.frombuffer(data[start + (count - 1) * stride : closing.start()] + between, dtype=np.uint8)
    rows = np.frombuffer(data, dtype=np.uint8, count=(count - 1) * stride, offset=start).reshape(-1, stride)
    spans = [(entry.start(group) - start, entry.end(group) - start) for group in (1, 2, 3)]
    if min(end - begin for begin, end in spans) < _PREFIX or not _has_constant_filler(rows, last, spans):
        return None
    columns = [_read_column(rows, last, span) for span in spans]
    test_ids, images, inferences = columns
    if test_ids is None or images is None or inferences is None:
        return None
    order = sorted_positions(test_ids)
    sorted_ids = test_ids[order]
    if (sorted_ids[1:] == sorted_ids[:-1]).any():
        return None
    return PairTable(IdColumn(test_ids, order), images, inferences)


def sorted_positions(ids: IdBytes) -> NDArray[np.intp]:
    """Return the positions in sorted order, (n,), of ids (n,) of equal length, at least 8 bytes.

    Numbers sort several times faster than strings, so the first eight bytes are compared as one number; the few ties
    are then sorted by the whole id.
    """
    starts = _prefixes(ids)
    order = np.argsort(starts, kind="stable")
    equal = np.flatnonzero(starts[order][1:] == starts[order][:-1])
    if len(equal) > len(ids) // 100:  # many ids share a prefix
        return np.argsort(ids, kind="stable")
    for run in np.split(equal, np.flatnonzero(np.diff(equal) > 1) + 1):
        if len(run):
            positions = order[run[0] : run[-1] + 2]
            order[run[0] : run[-1] + 2] = positions[np.argsort(ids[positions], kind="stable")]
    return order


def _prefixes(ids: IdBytes) -> NDArray[np.uint64]:
    """Return the first eight bytes of each id as a number with the same order, (n,)."""
    letters = ids.view(np.uint8).reshape(len(ids), -1)[:, :_PREFIX]
    return np.ascontiguousarray(letters).view(">u8").ravel().astype(np.uint64)


def _has_constant_filler(
    rows: NDArray[np.uint8], last: NDArray[np.uint8], spans: Sequence[tuple[int, int]]
) -> bool:
    """Whether all bytes outside of the ids are equal in all rows."""
    is_filler = np.ones(len(last), dtype=bool)
    for begin, end in spans:
        is_filler[begin:end] = False
    first = rows[0] if len(rows) else last
    filler_columns = np.flatnonzero(is_filler)
    same = ((rows[:, column] == first[column]).all() for column in filler_columns)
    return all(same) and all(last[column] == first[column] for column in filler_columns)


def _read_column(rows: NDArray[np.uint8], last: NDArray[np.uint8], span: tuple[int, int]) -> IdBytes | None:
    """Return one id per row, or ``None`` if a byte is not printable ASCII."""
    begin, end = span
    letters = np.concatenate([rows[:, begin:end], last[None, begin:end]])
    lowest, highest = _PRINTABLE
    if letters.min() < lowest or letters.max() > highest:
        return None
    return letters.view(f"S{end - begin}").ravel()
