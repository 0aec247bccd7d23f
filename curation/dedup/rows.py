"""The input rows of the exact clustering without exact copies, with their lengths."""

from dataclasses import dataclass

import numpy as np
from numpy.typing import NDArray

from curation.dedup import kernels
from curation.dedup.matmul_backends import UnitRows
from curation.dedup.vectors import unit_rows


@dataclass(frozen=True, slots=True)
class DistinctRows:
    """The distinct rows of the features.

    values: (n, d) float32 or float64. inverse_lengths: (n,). copy_counts: (n,) number of input rows that equal this
    one. row_of_input: (input_count,) the distinct row of each input row; numbered in order of first appearance.
    copied_bytes: memory of the values beyond the features.
    """

    values: NDArray[np.floating]
    inverse_lengths: NDArray[np.float64]
    copy_counts: NDArray[np.int64]
    row_of_input: NDArray[np.int64]
    copied_bytes: int

    def __len__(self) -> int:
        """Number of distinct rows."""
        return len(self.values)

    @property
    def input_count(self) -> int:
        """Number of input rows."""
        return len(self.row_of_input)

    @property
    def dimensions(self) -> int:
        """The length of a row."""
        return int(self.values.shape[1])

    def as_unit_rows(self) -> UnitRows:
        """Return the unit vectors in float32, computed chunk by chunk."""
        return UnitRows(
            len(self),
            self.dimensions,
            lambda start, stop: self.unit_rows_at(np.arange(start, stop, dtype=np.int64)),
        )

    def unit_rows_at(self, chosen: NDArray[np.int64]) -> NDArray[np.float32]:
        """Return unit vectors of the chosen rows in float32, (chosen, d)."""
        out = np.empty((len(chosen), self.dimensions), dtype=np.float32)
        kernels.scale_rows(self.values, self.inverse_lengths, chosen, out)
        return out


def distinct_rows(features: NDArray[np.floating]) -> DistinctRows:
    """Remove exact copies from (n, d) features that passed check_vectors.

    float32 rows are used in place; other types, and features with copies, are copied once.
    """
    if features.dtype in (np.float16, np.float32):
        values = np.ascontiguousarray(features, dtype=np.float32)
    else:
        values = unit_rows(features, "features")  # squares of very long float64 rows would overflow
    firsts, groups, copies = np.unique(_find_originals(values), return_inverse=True, return_counts=True)
    if len(firsts) < len(values):
        values = values[firsts]
    inverse = np.empty(len(values))
    kernels.write_inverse_lengths(values, inverse)
    copied = 0 if np.may_share_memory(values, features) else values.nbytes
    return DistinctRows(values, inverse, copies, groups, copied)


def _find_originals(values: NDArray[np.floating]) -> NDArray[np.int64]:
    """Return for each row the first row with the same values, (n,)."""
    fingerprint_values = np.empty(len(values))
    kernels.write_fingerprints(values, np.sqrt(np.arange(2.0, values.shape[1] + 2.0)), fingerprint_values)
    originals = np.empty(len(values), dtype=np.int64)
    kernels.find_copies(values, fingerprint_values, np.argsort(fingerprint_values, kind="stable"), originals)
    return originals
