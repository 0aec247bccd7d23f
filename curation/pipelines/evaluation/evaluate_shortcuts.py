"""Compute scores without the photo: at random, from the true clue's text, or from the candidate's text.

Sentence vectors are all-MiniLM-L6-v2's. Equal versions, options and models give equal scores. Source: Hessel et al.
2022 §5.2 (text-only models); Zellers et al. 2019 §4 (answer priors), doi:10.1109/CVPR.2019.00688.
"""

from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from typing import Any

import numpy as np

from curation.evaluation.answer_keys import sort_file_names
from curation.evaluation.sets import LocalizationImage
from curation.evaluation.shortcuts import (
    LABELS,
    MIN_TRAINING_PAIRS,
    Shortcut,
    grouped_folds,
    repeat_scores_for_images,
    typicality,
)
from curation.families.sherlock.evaluation_plan import SplitEvaluationSets, pairs_of_other_splits
from curation.families.sherlock.evaluation_submission import Matrix, submission_scores
from curation.features.weights import package_version_or_empty
from curation.pipelines.texts.texts_common import SentenceVectorMaker, TextEncoder, sentence_encoder
from curation.records import InvalidInput, ObservationRecord
from hits.services.jobs.jobs import Progress

FOLDS = 5
PENALTIES = (0.1, 1.0, 10.0)
NOISE = 1e-6  # breaks ties between assignments at random; float32 still resolves it


def shortcut_scores(
    sets: SplitEvaluationSets,
    shortcut: Shortcut,
    *,
    seed: int,
    sentences: TextEncoder | None = None,
    progress: Progress | None = None,
) -> tuple[dict[str, Matrix], dict[str, Any]]:
    """Return a shortcut's scores by file of a submission, and facts for the provenance.

    Args:
        sets: without proposed boxes, which have no clue, except for random scores.
        sentences: by default all-MiniLM-L6-v2; random scores need none.

    Raises:
        InvalidInput: too few pairs in other splits to train on.
        Refused: a model is not available. Cancelled: the job was cancelled.
    """
    facts: dict[str, Any] = {"seed": seed}
    rng = np.random.default_rng([seed, list(Shortcut).index(shortcut)])
    if shortcut is Shortcut.RANDOM:
        return {
            name: rng.random(sets.expected_counts[name]) for name in sort_file_names(sets.expected_counts)
        }, facts
    others = pairs_of_other_splits(sets.version, sets.split)
    if shortcut is Shortcut.TEXT_TRAINED and len(others) < MIN_TRAINING_PAIRS:
        raise InvalidInput(
            f"{LABELS[shortcut]}: the other splits have {len(others)} pairs to train on; "
            f"it needs {MIN_TRAINING_PAIRS}"
        )
    encoder = sentences or sentence_encoder()
    texts = _TextVectors.encode(sets, others, encoder, progress)
    facts |= {
        "sentence_encoder": encoder.name,
        "sentence_revision": encoder.revision,
        "training_pairs": len(others),
        "sklearn": package_version_or_empty("scikit-learn"),
    }
    clues = {pair.instance_id: pair.clue for chunk in sets.chunks for pair in chunk}
    return submission_scores(sets, _ShortcutScoreSource(shortcut, texts, clues, others, rng)), facts


@dataclass(frozen=True)
class _TextVectors:
    """Unit vectors of all texts to score or to train on."""

    vectors: Mapping[str, Matrix]

    @classmethod
    def encode(
        cls,
        sets: SplitEvaluationSets,
        others: Sequence[ObservationRecord],
        encoder: TextEncoder,
        progress: Progress | None,
    ) -> "_TextVectors":
        """Encode each distinct text once."""
        ids_by_text: dict[str, str] = {}
        for pair in [*(pair for chunk in sets.chunks for pair in chunk), *others]:
            ids_by_text.setdefault(pair.inference, pair.instance_id)
            ids_by_text.setdefault(pair.clue, pair.instance_id)
        for row in sets.comparison:
            for candidate in row["candidates"]:
                ids_by_text.setdefault(candidate["inference"], candidate["source_iid"])
        found = SentenceVectorMaker(sets.version.project, encoder, progress).encode(
            list(ids_by_text), ids=list(ids_by_text.values())
        )
        rows = found.rows.astype(np.float64)
        indices = found.row_indices.tolist()
        return cls({text: rows[index] for text, index in zip(ids_by_text, indices, strict=True)})

    def rows(self, texts: Sequence[str]) -> Matrix:
        """Return (n, d) vectors."""
        return np.stack([self.vectors[text] for text in texts])


class _ShortcutScoreSource:
    """A shortcut's scores of texts: a ``PairScoreSource`` that ignores regions."""

    def __init__(
        self,
        shortcut: Shortcut,
        texts: _TextVectors,
        clues: Mapping[str, str],
        others: Sequence[ObservationRecord],
        rng: np.random.Generator,
    ) -> None:
        """clues: the rated sets' clues by instance id. others: pairs of other splits, to learn from."""
        self._is_prior = shortcut is Shortcut.ANSWER_PRIOR
        self._texts, self._clues, self._others, self._rng = texts, clues, others, rng
        self._clue_map = _fit_clue_map(texts, others) if shortcut is Shortcut.TEXT_TRAINED else None

    def score_chunk(self, pairs: Sequence[ObservationRecord]) -> Matrix:
        """Return (n, n) scores of the clues of n pairs with their inferences."""
        inferences = [pair.inference for pair in pairs]
        if self._is_prior:
            return self._prior(inferences, len(pairs))
        return self._similarities([pair.clue for pair in pairs], inferences)

    def score_image(self, image: LocalizationImage) -> tuple[Matrix, Matrix]:
        """Return (n, n) scores of the pairs for matching, with random tie-breaks; boxes get no scores."""
        if image.boxes:
            raise ValueError("proposed boxes have no clue to read; plan the sets without them")
        scores = self.score_chunk(image.matched)
        return scores + NOISE * self._rng.random(scores.shape), np.zeros((0, len(image.pairs)))

    def score_rated(self, rows: Sequence[Mapping[str, Any]]) -> Matrix | None:
        """Return the scores of all candidates, (m,); None if one photo alone leaves no prior to learn."""
        if self._is_prior:
            return _predict_ratings(rows, self._texts, self._rng)
        return np.concatenate(
            [
                self._similarities(
                    [self._clues[row["Input_iid"]]],
                    [candidate["inference"] for candidate in row["candidates"]],
                )[0]
                for row in rows
            ]
        )

    def _similarities(self, clues: Sequence[str], inferences: Sequence[str]) -> Matrix:
        vectors = self._texts.rows(clues)
        if self._clue_map is not None:
            vectors = _unit_rows(self._clue_map.predict(vectors))
        return vectors @ self._texts.rows(inferences).T

    def _prior(self, inferences: Sequence[str], rows: int) -> Matrix:
        columns = self._texts.rows(inferences)
        known = [pair.inference for pair in self._others] or list(inferences)
        return repeat_scores_for_images(typicality(columns, self._texts.rows(known)), rows)


def _fit_clue_map(texts: _TextVectors, pairs: Sequence[ObservationRecord]) -> Any:
    """Return a linear map from clues' vectors to inferences', fitted on pairs."""
    from sklearn.linear_model import RidgeCV

    clues = texts.rows([pair.clue for pair in pairs])
    return RidgeCV(alphas=PENALTIES).fit(clues, texts.rows([pair.inference for pair in pairs]))


def _unit_rows(rows: Matrix) -> Matrix:
    return rows / np.maximum(np.linalg.norm(rows, axis=1, keepdims=True), 1e-12)


def _predict_ratings(
    rows: Sequence[Mapping[str, Any]], texts: _TextVectors, rng: np.random.Generator
) -> Matrix | None:
    """Predict candidates' mean ratings (n,) from their texts, by models fitted without ratings of their photo."""
    from sklearn.linear_model import RidgeCV

    photos = [row["image"]["url"] for row in rows for _ in row["candidates"]]
    candidates = [candidate for row in rows for candidate in row["candidates"]]
    folds = min(FOLDS, len(set(photos)))
    if folds < 2:  # noqa: PLR2004 - one photo leaves nothing to learn from
        return None
    vectors = texts.rows([candidate["inference"] for candidate in candidates])
    ratings = np.array([(candidate["annot1"] + candidate["annot2"]) / 2 for candidate in candidates])
    fold = grouped_folds(photos, rng=rng, folds=folds)
    values = np.empty(len(ratings))
    for number in range(folds):
        is_held_out = fold == number
        values[is_held_out] = (
            RidgeCV(alphas=PENALTIES)
            .fit(vectors[~is_held_out], ratings[~is_held_out])
            .predict(vectors[is_held_out])
        )
    return values
