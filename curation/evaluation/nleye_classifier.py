"""A classifier that sees one hypothesis and says whether it is the plausible one, with a permutation test.

Where it is right more often than by chance, plausibility can be told without the premise. Folds are grouped by
triplet: a triplet's hypotheses are held out together, and the one with the higher score is chosen. Under the null
hypothesis gold and the other may be swapped within each triplet (Good 2005, doi:10.1007/b138696).

The regressions of all permutations are fitted at once, by steps with an upper bound of the Hessian (Böhning & Lindsay
1988, doi:10.1007/BF00049423): it is the same matrix for all labels, and the loss never rises.
"""

from dataclasses import dataclass

import numpy as np
from numpy.typing import NDArray

from curation.evaluation.nleye_draws import none_if_nan
from curation.logistic import sigmoid
from curation.records import InvalidInput

FOLDS = 5
SWAPS = 500
RIDGE = 1.0
MAX_STEPS, TOLERANCE = 200, 1e-4
HALF = 0.5
_DIMENSIONS = 3
_BOUND = 0.25  # of p (1 − p), the weight of a row in the Hessian
_CELLS_CHUNK_SIZE = 4_000_000  # array cells in memory at a time


@dataclass(frozen=True, slots=True)
class HeldOutAccuracy:
    """How often the classifier puts gold above the other hypothesis of a held-out triplet.

    accuracy: share from 0 to 1; equal scores count half. p: of the permutation test. margins: (n,) score of gold
    minus that of the other. right: (n,) 1, ½ or 0. swaps: permutations beside the observed labels.
    """

    accuracy: float | None
    p: float
    margins: NDArray[np.float64]
    right: NDArray[np.float64]
    swaps: int


def held_out_accuracy(
    features: NDArray[np.floating],
    golds: NDArray[np.integer],
    *,
    rng: np.random.Generator,
    components: int | None = None,
    swaps: int = SWAPS,
) -> HeldOutAccuracy:
    """Return the held-out accuracy on n triplets, with a permutation test.

    Args:
        features: (n, 2, d) of h1 and of h2. golds: (n,) 1 or 2. components: if given, the features are reduced to
            these many principal components, which are fitted within the folds. swaps: number of permutations.

    Raises:
        InvalidInput: the features have another shape, or one is not finite; or there are fewer triplets than folds.
    """
    n = len(golds)
    if features.ndim != _DIMENSIONS or features.shape[:2] != (n, 2):
        raise InvalidInput(f"features: shape {features.shape}; give (triplets, 2, features) of {n} triplets")
    if not np.isfinite(features).all():
        raise InvalidInput("features: one is not a finite number; replace it")
    if n < FOLDS:
        raise InvalidInput(f"triplets: {n} are too few for {FOLDS} folds; audit more triplets")
    folds = np.empty(n, dtype=np.int64)
    folds[rng.permutation(n)] = np.arange(n) % FOLDS
    # The first row of signs is observed: 1 where h1 is gold, else −1. The others swap gold within random triplets.
    observed = np.where(golds == 1, 1.0, -1.0)
    signs = np.vstack([observed, observed * rng.choice([1.0, -1.0], size=(swaps, n))])
    margins = np.empty_like(signs)
    values = features.astype(np.float64)
    for fold in range(FOLDS):
        held_out = folds == fold
        training, tested = _prepare(values[~held_out], values[held_out], components)
        margins[:, held_out] = _fold_margins(training, tested, signs[:, ~held_out])
    margins *= signs
    right = np.where(margins == 0, HALF, (margins > 0).astype(np.float64))
    accuracies = right.mean(axis=1)
    # The observed labels are one of the permutations, so p is never 0. Equal accuracies may differ by rounding.
    as_high = int((accuracies[1:] >= accuracies[0] - HALF / n / 2).sum())
    return HeldOutAccuracy(
        none_if_nan(float(accuracies[0])), (1 + as_high) / (1 + swaps), margins[0], right[0], swaps
    )


def _prepare(
    training: NDArray[np.float64], tested: NDArray[np.float64], components: int | None
) -> tuple[NDArray[np.float64], NDArray[np.float64]]:
    """Return training rows (2m, k + 1) and tested rows (t, 2, k + 1), standardised, with a constant column last."""
    rows = training.reshape(-1, training.shape[2])
    if components is not None:
        mean = rows.mean(axis=0)
        axes = _principal_axes(rows - mean, components)
        rows, tested = (rows - mean) @ axes, (tested - mean) @ axes
    mean, deviation = rows.mean(axis=0), rows.std(axis=0)
    scale = np.where(deviation > 0, deviation, 1.0)
    rows, tested = (rows - mean) / scale, (tested - mean) / scale
    ones = np.ones((*tested.shape[:2], 1))
    return np.column_stack([rows, np.ones(len(rows))]), np.concatenate([tested, ones], axis=2)


def _principal_axes(centred: NDArray[np.float64], components: int) -> NDArray[np.float64]:
    """Return the first principal axes of centred rows (r, d) as columns; fewer if the rows have a lower rank."""
    # The eigenvectors of the smaller of both products are enough, and cost far less than a decomposition of the rows.
    is_tall = len(centred) >= centred.shape[1]
    sizes, vectors = np.linalg.eigh(centred.T @ centred if is_tall else centred @ centred.T)
    tolerance = sizes.max(initial=0.0) * max(centred.shape) * np.finfo(np.float64).eps
    chosen = np.flatnonzero(sizes > tolerance)[::-1][:components]
    axes = vectors[:, chosen]
    return axes if is_tall else centred.T @ axes / np.sqrt(sizes[chosen])


def _fold_margins(
    training: NDArray[np.float64], tested: NDArray[np.float64], signs: NDArray[np.float64]
) -> NDArray[np.float64]:
    """Return the score of h1 minus that of h2 for each permutation and tested triplet: (permutations, t).

    Args:
        signs: (permutations, m) 1 where h1 of a training triplet is gold, else −1.
    """
    labels = np.stack([signs > 0, signs < 0], axis=2).reshape(len(signs), -1).astype(np.float64)
    rows = max(1, _CELLS_CHUNK_SIZE // max(1, labels.shape[1]))
    weights = np.concatenate(
        [_fit(training, labels[start : start + rows]) for start in range(0, len(labels), rows)]
    )
    return weights @ (tested[:, 0] - tested[:, 1]).T


def _fit(rows: NDArray[np.float64], labels: NDArray[np.float64]) -> NDArray[np.float64]:
    """Return the weights of ridge-penalised logistic regressions: (permutations, k) for labels (permutations, r)."""
    penalty = np.append(np.full(rows.shape[1] - 1, RIDGE), 0.0)
    inverse = np.linalg.inv(_BOUND * rows.T @ rows + np.diag(penalty))
    weights = np.zeros((len(labels), rows.shape[1]))
    active = np.arange(len(labels))
    for _ in range(MAX_STEPS):
        current = weights[active]
        gradient = (sigmoid(current @ rows.T) - labels[active]) @ rows + penalty * current
        step = gradient @ inverse
        weights[active] = current - step
        active = active[np.abs(step).max(axis=1) > TOLERANCE]
        if not len(active):
            break
    return weights
