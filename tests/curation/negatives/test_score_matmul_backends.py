"""Score backends of comparison sets: order of words, bounds, and equal results."""

from __future__ import annotations

from typing import Any

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st

from curation.negatives import candidates as pool_module
from curation.negatives.comparison_sets import build_comparison_sets
from curation.negatives.kernels import dot_rows, to_ordered_integers
from curation.negatives.matmul_backends import NumpyScoreBackend, ScoreBackend
from curation.negatives.options import ComparisonSetOptions, DiversityMeasure, GoldStrictness, SpeedShortcut
from curation.negatives.plausibility import EmbeddingPlausibility

torch = pytest.importorskip("torch")
score_matmul_backends = pytest.importorskip("curation.pipelines.score_matmul_backends")

BACKENDS = [NumpyScoreBackend(), score_matmul_backends.BFloat16ScoreBackend()]


def unit(rows: np.ndarray, kind: Any = np.float32) -> np.ndarray:
    return (rows / np.linalg.norm(rows, axis=1, keepdims=True)).astype(kind)


def filled(product: ScoreBackend, images: np.ndarray, inferences: np.ndarray) -> tuple[Any, np.ndarray]:
    scores = product.prepare(images, inferences)
    words = np.empty((len(images), len(inferences)), scores.dtype)
    with scores.limit_to_one_core():
        parts = list(scores.fill(np.arange(len(images)), words))
    assert [part.start for part in parts[1:]] == [part.stop for part in parts[:-1]]
    assert (parts[0].start, parts[-1].stop) == (0, len(inferences))
    return scores, words


def exact(images: np.ndarray, inferences: np.ndarray) -> np.ndarray:
    return np.array([dot_rows(np.tile(row, (len(inferences), 1)), inferences) for row in images])


@given(
    st.lists(st.floats(-3.0, 3.0, width=32), min_size=2, max_size=40),
)
def test_float_words_sort_like_their_numbers(numbers: list[float]) -> None:
    rounded = torch.tensor([*numbers, 0.0, -0.0]).to(torch.bfloat16)
    words = rounded.view(torch.int16).numpy().copy()[None]
    to_ordered_integers(words)
    values = rounded.double().numpy()
    assert np.array_equal(
        np.sign(np.subtract.outer(values, values)), np.sign(np.subtract.outer(*[words[0].astype(int)] * 2))
    )
    assert np.array_equal(score_matmul_backends._word_values(words[0]), values)


@given(st.lists(st.floats(-3.0, 3.0, width=32), min_size=1, max_size=40))
def test_greatest_float_word_below_a_number(numbers: list[float]) -> None:
    values = np.array(numbers, np.float32)
    words = score_matmul_backends._floor_words(values)
    assert (score_matmul_backends._word_values(words) <= values).all()
    assert (score_matmul_backends._word_values(words + np.int16(1)) > values).all()


@pytest.mark.parametrize("product", BACKENDS, ids=lambda product: product.name)
@pytest.mark.parametrize("kind", [np.float32, np.float64])
@pytest.mark.parametrize("d", [1, 3, 64, 768])
@pytest.mark.parametrize("shift", [0.0, 0.8, -0.8])
def test_bounds_hold(product: ScoreBackend, kind: Any, d: int, shift: float) -> None:
    generator = np.random.default_rng(d)
    images = unit(generator.normal(size=(40, d)) + shift, kind)
    inferences = unit(generator.normal(size=(90, d)) + abs(shift), kind)
    inferences[:40] = images
    scores, words = filled(product, images, inferences)
    truth = exact(images, inferences)
    assert (truth <= scores.upper_bounds(words.ravel()).reshape(truth.shape)).all()
    for gold in np.concatenate([truth[:, 41], [-1.0, -1e-9, 0.0, 1e-9, 1.0]]):
        low, high = scores.uncertain_range(np.full(40, gold))
        assert (truth[words < low[:, None]] < gold).all()
        assert (truth[words > high[:, None]] > gold).all()


@pytest.mark.parametrize("diversity", list(DiversityMeasure))
@pytest.mark.parametrize("strictness", list(GoldStrictness))
@pytest.mark.parametrize("shortcut", [SpeedShortcut.NONE, SpeedShortcut.DROP_USED])
@pytest.mark.parametrize("kind", [np.float32, np.float64])
def test_no_matmul_backend_changes_a_result(
    monkeypatch: pytest.MonkeyPatch,
    diversity: DiversityMeasure,
    strictness: GoldStrictness,
    shortcut: SpeedShortcut,
    kind: Any,
) -> None:
    monkeypatch.setattr(pool_module, "MAX_ROWS", 33)
    generator = np.random.default_rng(1)
    which = generator.integers(0, 200, 300)
    images = generator.normal(size=(180, 48)).astype(kind)
    inferences = (generator.normal(size=(200, 48)) + 0.3)[which].astype(kind)
    images += inferences[:180] * 0.4
    vectors = (generator.normal(size=(200, 24)) + 0.5)[which].astype(kind)
    options = ComparisonSetOptions(
        size=4, min_candidates=5, diversity=diversity, strictness=strictness, shortcut=shortcut
    )
    plain, coarse = (
        build_comparison_sets(
            EmbeddingPlausibility(images, inferences, product),
            [f"text {i}" for i in which],
            vectors,
            options=options,
        )
        for product in BACKENDS
    )
    assert plain.sets
    assert plain.drafts == coarse.drafts
    assert plain.skipped == coarse.skipped
    assert np.array_equal(plain.eligible, coarse.eligible)


def test_torch_threads_are_restored(two_threads: None) -> None:
    filled(BACKENDS[1], unit(np.eye(4)), unit(np.ones((9, 4))))
    assert torch.get_num_threads() == 2
