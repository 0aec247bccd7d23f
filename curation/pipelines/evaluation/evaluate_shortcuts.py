"""Scores that look at no photo: what chance, the true clue's words or the candidate's own words reach.

Sentence vectors are all-MiniLM-L6-v2's. Equal versions, options and models give equal scores.
Source: paper 000 §5.2 (text-only models); Zellers et al. 2019 §4 (answer priors), doi:10.1109/CVPR.2019.00688.
"""

from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from typing import Any

import numpy as np

from curation.evaluation.held_keys import in_file_order
from curation.evaluation.sets import LocalizationImage
from curation.evaluation.shortcuts import (
    LABELS,
    LEAST_TRAINED,
    Shortcut,
    constant_columns,
    grouped_folds,
    typicality,
)
from curation.families.sherlock.evaluation_plan import SplitSets, pairs_outside
from curation.families.sherlock.evaluation_submission import Matrix, submission_scores
from curation.pipelines.texts.texts_common import Sentences, SentenceTexts, installed, sentence_encoder
from curation.records import InvalidInput, ObservationRecord
from hits.services.jobs.jobs import Progress

FOLDS = 5
PENALTIES = (0.1, 1.0, 10.0)
NOISE = 1e-6  # where every assignment is as good as any other, one is drawn; float32 still tells such scores apart


def shortcut_scores(
    sets: SplitSets,
    shortcut: Shortcut,
    *,
    seed: int,
    sentences: SentenceTexts | None = None,
    progress: Progress | None = None,
) -> tuple[dict[str, Matrix], dict[str, Any]]:
    """Return a shortcut's scores by file of a submission, and what they rest on.

    Args:
        sets: without proposed boxes unless scores are drawn: those have no clue.
        sentences: all-MiniLM-L6-v2 when absent; random scores need none.

    Raises:
        InvalidInput: too few pairs in other splits to train on.
        Refused: a model that cannot be had. Cancelled: somebody asked for it to stop.
    """
    facts: dict[str, Any] = {"seed": seed}
    rng = np.random.default_rng([seed, list(Shortcut).index(shortcut)])
    if shortcut is Shortcut.RANDOM:
        return {name: rng.random(sets.expected[name]) for name in in_file_order(sets.expected)}, facts
    others = pairs_outside(sets.version, sets.split)
    if shortcut is Shortcut.TEXT_TRAINED and len(others) < LEAST_TRAINED:
        raise InvalidInput(
            f"{LABELS[shortcut]}: other splits have {len(others)} pairs; {LEAST_TRAINED} are needed"
        )
    encoder = sentences or sentence_encoder()
    texts = _Texts.of(sets, others, encoder, progress)
    facts |= {
        "sentence_encoder": encoder.name,
        "sentence_revision": encoder.revision,
        "training_pairs": len(others),
        "sklearn": installed("scikit-learn"),
    }
    clues = {pair.instance_id: pair.clue for chunk in sets.chunks for pair in chunk}
    return submission_scores(sets, _Reader(shortcut, texts, clues, others, rng)), facts


@dataclass(frozen=True)
class _Texts:
    """Unit vectors of every text that is asked about, or trained on."""

    vectors: Mapping[str, Matrix]

    @classmethod
    def of(
        cls,
        sets: SplitSets,
        others: Sequence[ObservationRecord],
        encoder: SentenceTexts,
        progress: Progress | None,
    ) -> "_Texts":
        """Encode each different text once."""
        named: dict[str, str] = {}
        for pair in [*(pair for chunk in sets.chunks for pair in chunk), *others]:
            named.setdefault(pair.inference, pair.instance_id)
            named.setdefault(pair.clue, pair.instance_id)
        for row in sets.comparison:
            for one in row["candidates"]:
                named.setdefault(one["inference"], one["source_iid"])
        found = Sentences(sets.version.project, encoder, progress).of(list(named), ids=list(named.values()))
        rows = found.rows.astype(np.float64)
        places = found.places.tolist()
        return cls({text: rows[place] for text, place in zip(named, places, strict=True)})

    def rows(self, texts: Sequence[str]) -> Matrix:
        """Return (n, d) vectors."""
        return np.stack([self.vectors[text] for text in texts])


class _Reader:
    """What a shortcut thinks of texts: a ``PairScores`` that sees no region."""

    def __init__(
        self,
        shortcut: Shortcut,
        texts: _Texts,
        clues: Mapping[str, str],
        others: Sequence[ObservationRecord],
        rng: np.random.Generator,
    ) -> None:
        """``clues`` are those of rated sets' pairs by instance id; ``others`` are what may be learned from."""
        self._is_prior = shortcut is Shortcut.ANSWER_PRIOR
        self._texts, self._clues, self._others, self._rng = texts, clues, others, rng
        self._map = _clues_to_inferences(texts, others) if shortcut is Shortcut.TEXT_TRAINED else None

    def of_chunk(self, pairs: Sequence[ObservationRecord]) -> Matrix:
        """Return (n, n) scores of the clues of n pairs with their inferences."""
        inferences = [pair.inference for pair in pairs]
        if self._is_prior:
            return self._prior(inferences, len(pairs))
        return self._likeness([pair.clue for pair in pairs], inferences)

    def of_image(self, image: LocalizationImage) -> tuple[Matrix, Matrix]:
        """Return (n, n) scores of the pairs that are matched, ties drawn by lot, and none of boxes."""
        if image.boxes:
            raise ValueError("proposed boxes have no clue to read; plan the sets without them")
        scores = self.of_chunk(image.matched)
        return scores + NOISE * self._rng.random(scores.shape), np.zeros((0, len(image.pairs)))

    def of_rated(self, rows: Sequence[Mapping[str, Any]]) -> Matrix | None:
        """Return the scores of all candidates, (m,); nothing where one photo leaves no prior to learn."""
        if self._is_prior:
            return _prior_of_ratings(rows, self._texts, self._rng)
        return np.concatenate(
            [
                self._likeness(
                    [self._clues[row["Input_iid"]]], [one["inference"] for one in row["candidates"]]
                )[0]
                for row in rows
            ]
        )

    def _likeness(self, clues: Sequence[str], inferences: Sequence[str]) -> Matrix:
        read = self._texts.rows(clues)
        if self._map is not None:
            read = _unit(self._map.predict(read))
        return read @ self._texts.rows(inferences).T

    def _prior(self, inferences: Sequence[str], rows: int) -> Matrix:
        columns = self._texts.rows(inferences)
        known = [pair.inference for pair in self._others] or list(inferences)
        return constant_columns(typicality(columns, self._texts.rows(known)), rows)


def _clues_to_inferences(texts: _Texts, pairs: Sequence[ObservationRecord]) -> Any:
    """Return a linear map from clues' vectors to inferences', fitted on pairs."""
    from sklearn.linear_model import RidgeCV

    clues = texts.rows([pair.clue for pair in pairs])
    return RidgeCV(alphas=PENALTIES).fit(clues, texts.rows([pair.inference for pair in pairs]))


def _unit(rows: Matrix) -> Matrix:
    return rows / np.maximum(np.linalg.norm(rows, axis=1, keepdims=True), 1e-12)


def _prior_of_ratings(
    rows: Sequence[Mapping[str, Any]], texts: _Texts, rng: np.random.Generator
) -> Matrix | None:
    """Foretell each candidate's mean rating from its text, by models that saw no rating of its photo: (n,)."""
    from sklearn.linear_model import RidgeCV

    photos = [row["image"]["url"] for row in rows for _ in row["candidates"]]
    candidates = [one for row in rows for one in row["candidates"]]
    folds = min(FOLDS, len(set(photos)))
    if folds < 2:  # noqa: PLR2004 - one photo leaves nothing to learn from
        return None
    vectors = texts.rows([one["inference"] for one in candidates])
    ratings = np.array([(one["annot1"] + one["annot2"]) / 2 for one in candidates])
    fold = grouped_folds(photos, rng=rng, folds=folds)
    values = np.empty(len(ratings))
    for number in range(folds):
        held = fold == number
        values[held] = RidgeCV(alphas=PENALTIES).fit(vectors[~held], ratings[~held]).predict(vectors[held])
    return values
