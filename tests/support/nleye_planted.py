"""Made-up image triplets with or without a planted shortcut."""

import numpy as np
from numpy.typing import NDArray

from curation.evaluation.image_figures import ImageFigures
from curation.evaluation.nleye_audit_features import Production, pixel_features, production_features
from curation.evaluation.nleye_key import TripletKey
from hits.domain.answers.scene_facets import CATEGORIES, DOMAINS, TEMPORAL_CELLS

TRIPLETS = 300


def make_balanced_key(n: int, rng: np.random.Generator) -> TripletKey:
    """Return a key in which gold is 1 in half of each category."""
    golds = [1 + (i // len(CATEGORIES)) % 2 for i in range(n)]
    rows = [
        (f"t{i:04}", gold, CATEGORIES[i % 6], DOMAINS[i % 9], TEMPORAL_CELLS[i % 5])
        for i, gold in enumerate(golds)
    ]
    return TripletKey.from_rows([rows[row] for row in rng.permutation(n)])


def make_pixel_figures(
    key: TripletKey, rng: np.random.Generator, *, brightness_shift: float = 0.0
) -> NDArray[np.float64]:
    """Return figures of both hypotheses' pixels: (n, 2, 5).

    brightness_shift: by how many standard deviations gold images are brighter.
    """
    names = ImageFigures.names()
    values = rng.normal(0.5, 0.1, size=(len(key), 2, len(names)))
    values[np.arange(len(key)), key.golds - 1, names.index("brightness")] += 0.1 * brightness_shift
    return pixel_features([tuple(ImageFigures(*row) for row in pair) for pair in values.tolist()])


def make_production(
    key: TripletKey, rng: np.random.Generator, *, extra_edits: int = 0
) -> NDArray[np.float64]:
    """Return how both hypotheses were made; gold has some more edits."""

    def made(side: int, gold: int) -> Production:
        edits = int(rng.poisson(1)) + (extra_edits if side + 1 == gold else 0)
        return Production(
            str(rng.choice(["drawing", "sdxl"])),
            int(rng.integers(1, 9)),
            edits,
            int(rng.integers(40_000, 90_000)),
        )

    return production_features([(made(0, gold), made(1, gold)) for gold in key.golds.tolist()])


def make_vectors(
    key: TripletKey, rng: np.random.Generator, *, size: int = 64, shift: float = 0.0
) -> NDArray[np.float64]:
    """Return image vectors whose first direction varies most; gold is shifted along it by standard deviations."""
    spread = 1 / np.sqrt(1 + np.arange(size))
    values = rng.normal(size=(len(key), 2, size)) * spread
    values[np.arange(len(key)), key.golds - 1, 0] += shift
    return values
