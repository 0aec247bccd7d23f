"""Exact assignment: equal to scipy's, a reason where there is none, and a certificate that catches a wrong result."""

import itertools
from typing import Any

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st
from hypothesis.extra import numpy as hnp
from numpy.typing import NDArray
from scipy.optimize import linear_sum_assignment
from scipy.sparse import csr_array

from curation.matching import assign as solver
from curation.matching import core_kernels, kernels
from curation.matching.assign import Assignment, CertificateError, Infeasible, assign, assign_sparse, certify
from curation.matching.hall import HallViolator
from curation.matching.options import MatchOptions
from curation.matching.weights import weigh
from curation.records import InvalidInput
from tests.support.vcr.matching import make_scores

Matrix = NDArray[np.floating[Any]]


def scipy_total(weights: Matrix) -> float | None:
    try:
        rows, columns = linear_sum_assignment(-weights.astype(np.float64))
    except ValueError:
        return None
    return float(weights[rows, columns].sum(dtype=np.float64))


def solve_listed(weights: Matrix) -> Assignment | Infeasible:
    """Solve the allowed pairs as a CSR matrix."""
    allowed = csr_array(weights > -np.inf)
    rows = np.repeat(np.arange(len(weights)), np.diff(allowed.indptr))
    return assign_sparse(allowed.indptr, allowed.indices, weights[rows, allowed.indices], len(weights))


def random_weights(seed: int) -> Matrix:
    """Two to forty rows, up to 95 % of the pairs forbidden; numbers, small whole numbers with ties, or skewed."""
    generator = np.random.default_rng(seed)
    n = int(generator.integers(2, 41))
    weights = [
        3 * generator.standard_normal((n, n)),
        generator.integers(-3, 4, (n, n)).astype(np.float64),
        -14 * generator.random((n, n)) ** 8,
    ][seed % 3]
    weights[generator.random((n, n)) < generator.uniform(0, 0.95)] = -np.inf
    return weights


def check_violator(weights: Matrix, violator: HallViolator) -> None:
    """Assert that a violator proves that no assignment exists."""
    allowed = weights > -np.inf
    rows, columns = np.array(violator.rows, np.int64), np.array(violator.columns, np.int64)
    outside_rows = np.setdiff1d(np.arange(len(weights)), rows)
    outside_columns = np.setdiff1d(np.arange(len(weights)), columns)
    if violator.by_rows:
        assert len(columns) < len(rows)
        assert not allowed[np.ix_(rows, outside_columns)].any()
    else:
        assert len(rows) < len(columns)
        assert not allowed[np.ix_(outside_rows, columns)].any()


def check_against_scipy(weights: Matrix, found: Assignment | Infeasible) -> bool:
    """Assert an equal result; return whether it is feasible."""
    expected = scipy_total(weights)
    if isinstance(found, Infeasible):
        assert expected is None
        check_violator(weights, found.violator)
        return False
    assert found.total == pytest.approx(expected, abs=1e-9, rel=1e-12)
    assert sorted(found.columns.tolist()) == list(range(len(weights)))
    assert found.certificate.min_reduced_cost >= -1e-6
    assert found.certificate.gap <= 1e-6 * len(weights)
    return True


def check_many(seeds: range) -> int:
    return sum(
        check_against_scipy(weights, assign(weights)) + check_against_scipy(weights, solve_listed(weights))
        for weights in map(random_weights, seeds)
    )


def test_random_matrices_equal_scipy() -> None:
    assert 200 < check_many(range(300)) < 500  # both kinds, twice each


@pytest.mark.nightly
def test_five_thousand_random_matrices_equal_scipy() -> None:
    assert 6_000 < check_many(range(5_000)) < 9_000  # both kinds, twice each


@pytest.mark.parametrize("core_size", [1, 2])
def test_growing_core_equals_scipy(core_size: int, monkeypatch: pytest.MonkeyPatch) -> None:
    """A tiny core has to be widened and priced, and some matrices end on the whole one."""
    monkeypatch.setattr(solver, "CORE_SIZE", core_size)
    assert check_many(range(300, 400)) > 0


@pytest.mark.parametrize("share", [0.0, 1.0])
def test_whole_matrix_and_core_give_the_same_total(share: float, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(solver, "MAX_CORE_SHARE", share)
    weights = weigh(*make_scores(150, 3.0), MatchOptions())
    np.fill_diagonal(weights, -np.inf)
    assert check_against_scipy(weights, assign(weights))


@pytest.mark.parametrize(
    "weights",
    [
        np.zeros((120, 120)),
        -np.outer(np.arange(1.0, 121), np.arange(1.0, 121)),
        np.repeat(np.linspace(0, 1, 120)[None], 120, axis=0),
        np.where(np.abs(np.subtract.outer(np.arange(120), np.arange(120))) < 2, 1.0, -np.inf),
        np.random.default_rng(0).integers(0, 3, (120, 120)).astype(np.float64),
        np.random.default_rng(0).standard_normal((120, 120)).astype(np.float32),
        1e12 * np.random.default_rng(1).standard_normal((120, 120)),
    ],
    ids=["constant", "products", "equal rows", "band", "ties", "float32", "large"],
)
def test_special_matrices_equal_scipy(weights: Matrix) -> None:
    found = assign(weights)
    assert isinstance(found, Assignment)
    assert found.total == pytest.approx(scipy_total(weights), rel=1e-9)


@given(
    hnp.arrays(
        np.float64,
        st.integers(0, 5).map(lambda n: (n, n)),
        elements=st.one_of(st.just(-np.inf), st.integers(-2, 2).map(float), st.floats(-20, 20)),
    )
)
def test_result_is_the_best_of_all_permutations(weights: Matrix) -> None:
    n = len(weights)
    totals = [sum(weights[i, j] for i, j in enumerate(order)) for order in itertools.permutations(range(n))]
    found = assign(weights)
    if max(totals) == -np.inf:
        assert isinstance(found, Infeasible)
        check_violator(weights, found.violator)
    else:
        assert isinstance(found, Assignment)
        assert found.total == pytest.approx(max(totals), abs=1e-9)


def test_violator_is_the_smaller_one() -> None:
    weights = np.zeros((6, 6))
    weights[:, 4] = -np.inf
    found = assign(weights)
    assert isinstance(found, Infeasible)
    assert found.violator == HallViolator(by_rows=False, rows=(), columns=(4,))
    weights = np.zeros((6, 6))
    weights[:3, 2:] = -np.inf
    found = assign(weights)
    assert isinstance(found, Infeasible)
    assert found.violator == HallViolator(by_rows=True, rows=(0, 1, 2), columns=(0, 1))


# The certificate.


def _solved() -> tuple[Matrix, Assignment]:
    weights = weigh(*make_scores(60, 1.2), MatchOptions())
    found = assign(weights)
    assert isinstance(found, Assignment)
    return weights, found


def test_certificate_holds_for_the_result() -> None:
    weights, found = _solved()
    assert certify(weights, found.columns, found.u, found.v) == found.certificate


@pytest.mark.parametrize("damage", ["swapped", "repeated", "u", "v", "forbidden"])
def test_certificate_catches_a_damaged_result(damage: str) -> None:
    weights, found = _solved()
    columns, u, v = found.columns.copy(), found.u.copy(), found.v.copy()
    if damage == "swapped":
        columns[[3, 7]] = columns[[7, 3]]
    elif damage == "repeated":
        columns[3] = columns[7]
    elif damage == "forbidden":
        weights[3, columns[3]] = -np.inf
    else:
        (u if damage == "u" else v)[3] -= 1e-3
    with pytest.raises(CertificateError, match="not proven optimal"):
        certify(weights, columns, u, v)


def test_damaged_kernel_is_caught(monkeypatch: pytest.MonkeyPatch) -> None:
    def augment_wrongly(graph: Any, matching: Any, free: Any) -> Any:
        stuck = original(graph, matching, free)
        matching.columns[[0, 1]] = matching.columns[[1, 0]]
        return stuck

    original = kernels.augment_paths
    weights, _ = _solved()
    monkeypatch.setattr(kernels, "augment_paths", augment_wrongly)
    with pytest.raises(CertificateError):
        assign(weights)
    with pytest.raises(CertificateError):
        solve_listed(weights)


def test_missing_pricing_is_caught(monkeypatch: pytest.MonkeyPatch) -> None:
    """The optimum of a core alone is not that of the matrix."""
    weights = weigh(*make_scores(200, 3.0), MatchOptions())
    monkeypatch.setattr(solver, "CORE_SIZE", 2)
    nothing = np.empty(0, np.int64)
    monkeypatch.setattr(core_kernels, "price_rows", lambda *_: (nothing, nothing))
    with pytest.raises(CertificateError):
        assign(weights)


# Input that is refused.


@pytest.mark.parametrize(
    ("weights", "message"),
    [
        (np.zeros((2, 3)), r"the shape is \(2, 3\)"),
        (np.zeros((2, 2), np.int64), "the type is int64"),
        (np.array([[0.0, 1.0], [np.nan, 0.0]]), "row 1, column 0 is nan"),
        (np.array([[0.0, np.inf], [0.0, 0.0]]), "row 0, column 1 is inf"),
    ],
)
def test_unusable_weights_are_refused(weights: Matrix, message: str) -> None:
    with pytest.raises(InvalidInput, match=message):
        assign(weights)


@pytest.mark.parametrize(
    ("indptr", "indices", "data", "message"),
    [
        ([0, 1], [0], [1.0], "does not divide"),
        ([0, 2, 1], [0], [1.0], "does not divide"),
        ([0, 1, 2], [0, 1], [1.0], "1 weights for 2 pairs"),
        ([0, 2, 2], [1, 0], [1.0, 2.0], "ascending"),
        ([0, 1, 2], [0, 2], [1.0, 2.0], "from 0 to 1"),
        ([0, 1, 2], [0, 1], [1.0, np.nan], "row 1, column 1 is nan"),
    ],
)
def test_unusable_pairs_are_refused(indptr: Any, indices: Any, data: Any, message: str) -> None:
    with pytest.raises(InvalidInput, match=message):
        assign_sparse(np.array(indptr), np.array(indices), np.array(data), 2)
