"""P_rel and P_sim from sentence vectors and words."""

import numpy as np
import pytest

from curation.records import InvalidInput
from curation.relevance.interfaces import Relevance, Similarity, Texts
from curation.relevance.vectors import (
    VectorRelevance,
    VectorSimilarity,
    draw_training_pairs,
    fit_vector_relevance,
)


def random_texts(count: int, seed: int, near: Texts | None = None) -> Texts:
    """Texts of a few made-up words, with random unit vectors, or vectors near those of other texts."""
    generator = np.random.default_rng(seed)
    words = ["the", "person", "waits", "because", "rain", "door", "smiles", "at", "chair", "why"]
    texts = [" ".join(generator.choice(words, size=generator.integers(3, 9))) for _ in range(count)]
    vectors = generator.standard_normal((count, 16))
    if near is not None and near.vectors is not None:
        vectors = near.vectors + 0.2 * vectors
    vectors /= np.linalg.norm(vectors, axis=1, keepdims=True)
    return Texts(texts, vectors.astype(np.float32))


def test_training_pairs_have_one_true_and_three_other_responses() -> None:
    rows, columns, targets = draw_training_pairs(50, seed=3)
    assert targets.mean() == 0.25
    assert ((rows == columns) == targets).all()
    assert np.bincount(rows).tolist() == [4] * 50


def test_training_pairs_of_too_few_triplets_are_refused() -> None:
    with pytest.raises(InvalidInput, match="the other folds have 3 triplets; at least 10"):
        draw_training_pairs(3, seed=0)


def test_relevance_fitted_on_other_texts_prefers_own_responses() -> None:
    queries = random_texts(200, 0)
    model = fit_vector_relevance(queries, random_texts(200, 1, near=queries), seed=0)
    asked = random_texts(60, 2)
    block = model.block(asked, random_texts(60, 3, near=asked))
    assert block.dtype == np.float32
    assert (block.argmax(axis=1) == np.arange(60)).mean() > 0.9
    assert 0 <= block.min() <= block.max() <= 1


def test_relevance_pairs_equal_the_block() -> None:
    queries, responses = random_texts(20, 0), random_texts(30, 1)
    model = VectorRelevance((3.0, 1.5, -0.5, -1.0))
    rows, columns = np.array([0, 19, 7]), np.array([29, 0, 7])
    assert model.pairs(queries, responses, rows, columns) == pytest.approx(
        model.block(queries, responses)[rows, columns], abs=1e-6
    )


def test_relevance_counts_words_and_lengths() -> None:
    vector = np.ones((1, 1), dtype=np.float32)
    query = Texts(["Why does the person wait?"], vector)
    model = VectorRelevance((0.0, 1.0, 0.0, 0.0))
    half = model.block(query, Texts(["The dog waits person"], vector))
    assert half[0, 0] == pytest.approx(1 / (1 + np.exp(-0.5))), "two of its four words occur in the query"
    lengths = VectorRelevance((0.0, 0.0, 1.0, 0.0)).block(query, Texts(["no"], vector))
    assert lengths[0, 0] == pytest.approx(1 / (1 + np.exp(-0.4))), "five words against one, in tens"


def test_similarity_is_symmetric_and_one_for_equal_texts() -> None:
    texts = random_texts(25, 4)
    texts = Texts([*texts.texts[:24], texts.texts[0]], texts.vectors)
    block = VectorSimilarity().block(texts, texts)
    assert np.allclose(block, block.T, atol=1e-6)
    assert (block.diagonal() == 1).all()
    assert block[0, 24] == 1, "a verbatim copy, whatever its vector"
    rows, columns = np.array([0, 3, 5]), np.array([24, 3, 6])
    assert VectorSimilarity().pairs(texts, texts, rows, columns) == pytest.approx(block[rows, columns])


def test_stand_ins_describe_what_they_replace() -> None:
    models: list[Relevance | Similarity] = [VectorRelevance((0.0, 0.0, 0.0, 0.0)), VectorSimilarity()]
    assert all("stands in for" in model.stand_in for model in models)
    assert VectorRelevance((1.0, 0.0, 0.0, 0.0)).revision != VectorRelevance((2.0, 0.0, 0.0, 0.0)).revision
