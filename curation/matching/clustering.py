"""Cut vectors into parts of equal size whose members point in similar directions (balanced spherical k-means)."""

import numpy as np
from numpy.typing import NDArray

MAX_ITERATIONS = 12

Vectors = NDArray[np.float32] | NDArray[np.float64]


def mean_direction(vectors: Vectors) -> NDArray[np.float64]:
    """Return the mean (d,) of unit vectors (m, d), scaled to length 1; zeros if it has no direction."""
    mean = vectors.mean(axis=0, dtype=np.float64)
    length = float(np.linalg.norm(mean))
    return mean / length if length > 0 else mean


def cluster_evenly(vectors: Vectors, size: int, seed: int) -> NDArray[np.int64]:
    """Return the part of each unit vector (m, d), from 0.

    There are as few parts as ``size`` allows, and their sizes are at most one apart. In each iteration, vectors
    choose the nearest centre that has room, those with the clearest choice first.
    """
    m = len(vectors)
    k = -(-m // size)
    if k <= 1:
        return np.zeros(m, np.int64)
    points = vectors.astype(np.float32)
    centres = _first_centres(points, k, np.random.default_rng(seed))
    labels = np.full(m, -1, np.int64)
    for _ in range(MAX_ITERATIONS):
        found = _assign_evenly(points @ centres.T)
        if (found == labels).all():
            break
        labels = found
        centres = np.stack([mean_direction(points[labels == part]) for part in range(k)]).astype(np.float32)
    return labels


def _first_centres(
    points: NDArray[np.float32], k: int, generator: np.random.Generator
) -> NDArray[np.float32]:
    """Return k of the points, far from one another (k-means++ on 1 - cosine)."""
    chosen = [int(generator.integers(len(points)))]
    distances = np.full(len(points), np.inf)
    for _ in range(k - 1):
        distances = np.minimum(distances, np.clip(1.0 - points @ points[chosen[-1]], 0.0, None))
        bounds = np.cumsum(distances, dtype=np.float64)
        position = int(np.searchsorted(bounds, generator.random() * bounds[-1], side="right"))
        chosen.append(min(position, len(points) - 1))
    return points[chosen]


def _assign_evenly(scores: NDArray[np.float32]) -> NDArray[np.int64]:
    """Return a part for each row of (m, k) scores, so that the sizes of the parts are at most one apart."""
    m, k = scores.shape
    floor, spare = divmod(m, k)
    sizes = [0] * k
    ranked = np.argsort(-scores, axis=1, kind="stable")
    best_two = np.take_along_axis(scores, ranked[:, :2], axis=1)
    order = np.argsort(best_two[:, 1] - best_two[:, 0], kind="stable")
    labels = np.empty(m, np.int64)
    for row in order.tolist():
        for part in ranked[row].tolist():
            if sizes[part] < floor + (spare > 0):
                break
        sizes[part] += 1
        spare -= sizes[part] > floor
        labels[row] = part
    return labels
