"""Made-up embeddings that are distributed like those of a corpus of photographs and sentences.

Unit vectors on a few dozen dimensions around one common direction: topics of very different sizes and widths, and
near copies at very different distances, some sources copied many times. Deterministic for a seed.
"""

from dataclasses import dataclass

import numpy as np
from numpy.typing import NDArray


@dataclass(frozen=True, slots=True)
class Shape:
    """What the vectors look like.

    rank: dimensions that vary; their weights fall as i ** -decay. common: length of the direction that all share.
    topic_rows: rows per topic; topic_decay: how fast topics shrink (Zipf). topic_width: from the narrowest to the
    widest. copy_share: rows that are near copies of others, at distances copy_noise. noise: in all dimensions.
    """

    rank: int = 64
    decay: float = 0.35
    common: float = 0.9
    topic_rows: int = 120
    topic_decay: float = 0.8
    topic_width: tuple[float, float] = (0.45, 1.3)
    copy_share: float = 0.25
    copy_noise: tuple[float, float] = (0.08, 0.8)
    noise: float = 0.25


PHOTOS = Shape()
DENSE = Shape(common=0.55, topic_width=(0.15, 1.1), copy_noise=(0.02, 0.6), noise=0.02, topic_decay=1.05)
HIGH_DIMENSIONAL = Shape(rank=256, common=0.3, noise=0.5, topic_width=(0.6, 1.3), copy_share=0.1)
MIN_TOPICS = 8


def make(n: int, d: int = 512, seed: int = 0, shape: Shape = PHOTOS) -> NDArray[np.float32]:
    """Unit vectors, float32 (n, d)."""
    generator = np.random.default_rng(seed)
    basis = np.linalg.qr(generator.standard_normal((d, shape.rank + 1)))[0].astype(np.float32)
    weights = (np.arange(1, shape.rank + 1) ** -shape.decay).astype(np.float32)
    weights /= np.sqrt((weights**2).sum())
    places = _topics(n, shape, weights, generator)
    _copy_some(places, shape, weights, generator)
    rows = places @ basis[:, 1:].T + np.float32(shape.common) * basis[:, 0]
    rows += np.float32(shape.noise / np.sqrt(d)) * generator.standard_normal((n, d), dtype=np.float32)
    rows /= np.linalg.norm(rows, axis=1, keepdims=True)
    return np.ascontiguousarray(rows, dtype=np.float32)


def _topics(
    n: int, shape: Shape, weights: NDArray[np.float32], generator: np.random.Generator
) -> NDArray[np.float32]:
    """Places of rows around the centres of their topics, (n, rank)."""
    count = max(MIN_TOPICS, int(n * (1 / shape.topic_rows)))
    chance = np.arange(1, count + 1) ** -shape.topic_decay
    chance /= chance.sum()
    centres = generator.standard_normal((count, shape.rank)).astype(np.float32) * weights
    topic = generator.choice(count, size=n, p=chance)
    width = _log_uniform(shape.topic_width, n, generator)
    return centres[topic] + width * generator.standard_normal((n, shape.rank)).astype(np.float32) * weights


def _copy_some(
    places: NDArray[np.float32],
    shape: Shape,
    weights: NDArray[np.float32],
    generator: np.random.Generator,
) -> None:
    """Put some rows near others; low rows are copied most."""
    copied = generator.random(len(places)) < shape.copy_share
    copied[0] = False
    sources, copies = np.flatnonzero(~copied), np.flatnonzero(copied)
    source = sources[(generator.random(len(copies)) ** 2 * len(sources)).astype(np.int64)]
    distance = _log_uniform(shape.copy_noise, len(copies), generator)
    step = distance * generator.standard_normal((len(copies), shape.rank)).astype(np.float32) * weights
    places[copies] = places[source] + step


def _log_uniform(span: tuple[float, float], n: int, generator: np.random.Generator) -> NDArray[np.float32]:
    return np.exp(generator.uniform(np.log(span[0]), np.log(span[1]), n)).astype(np.float32)[:, None]
