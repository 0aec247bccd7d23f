"""What the tests of question sets start from."""

import numpy as np
import pytest

from curation.matching.assign import assign, assign_sparse


@pytest.fixture(scope="session", autouse=True)
def compiled_kernels() -> None:
    """Load the solvers before a job runs: its first seconds would look like a slow step."""
    weights = np.zeros((4, 4))
    assign(weights)
    indptr, indices = np.arange(0, 17, 4), np.tile(np.arange(4), 4)
    assign_sparse(indptr, indices, weights.ravel(), 4)
