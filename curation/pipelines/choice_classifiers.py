"""Classifiers that choose a response without the image: from the responses, with the question, or from tags alone.

They are cross-fitted by match fold. Within a fold the right texts of some questions are the wrong choices of others,
so a classifier that was trained on a part of a fold knows which of the texts it has seen as right, and is misled.
Source: Zellers et al. 2019 §D and table 5 (answer priors), doi:10.1109/CVPR.2019.00688.
"""

from collections import Counter
from collections.abc import Callable, Sequence
from dataclasses import dataclass
from itertools import pairwise
from typing import Any, TypeAlias

import numpy as np
import scipy.sparse
from numpy.typing import NDArray
from sklearn.linear_model import LogisticRegression

from curation.evaluation.choice_items import CHOICES, StageQuestion, class_tokens, tagged_objects, words
from curation.evaluation.choice_shortcuts import RuleShares, question_labels, rule_shares
from curation.even_parts import spread_evenly

MAX_QUESTIONS, MAX_WITH_QUERY = 20_000, 6_000
"""More questions are sampled: the standard errors of accuracies are then 0.3 and 0.6 points."""
MAX_GROUPS = 5  # of folds, each of which is held out once
MIN_GROUP = 20  # questions
PAIR_COLUMNS = 1 << 18
_PAIR_FACTOR = 2_654_435_761  # Knuth 1998, §6.4: spreads neighbouring numbers
_ITERATIONS, _TOLERANCE = 200, 1e-3
_EQUAL_DIGITS = 9  # scores that differ less are equal: a model without any information has rounding errors
Matrix: TypeAlias = Any  # scipy.sparse.csr_matrix, which has no types


@dataclass(frozen=True, slots=True)
class CrossFit:
    """How often a cross-fitted classifier is right, and on how many questions.

    groups: how many groups of folds were held out in turn. reason: why nothing was measured, else empty.
    """

    shares: RuleShares
    questions: int = 0
    groups: int = 0
    reason: str = ""


def cross_fit_responses(questions: Sequence[StageQuestion], *, seed: int = 0) -> CrossFit:
    """Cross-fit a classifier that sees the four responses alone: their words, word pairs, length and tags."""
    return _cross_fit(questions, _response_features, seed, MAX_QUESTIONS)


def cross_fit_questions(questions: Sequence[StageQuestion], *, seed: int = 0) -> CrossFit:
    """Cross-fit a classifier that also sees the query: pairs of its words with the response's, and shared tags."""
    return _cross_fit(questions, _query_features, seed, MAX_WITH_QUERY)


def cross_fit_tags(questions: Sequence[StageQuestion], *, seed: int = 0) -> CrossFit:
    """Cross-fit a classifier that sees only which objects the query and the four responses tag, and no word."""
    return _cross_fit(questions, _tag_features, seed, MAX_QUESTIONS)


def _cross_fit(
    questions: Sequence[StageQuestion],
    make_features: Callable[[Sequence[StageQuestion]], Matrix],
    seed: int,
    most: int,
) -> CrossFit:
    nothing = RuleShares(None, None, None)
    group, reason = fold_groups(questions)
    if reason:
        return CrossFit(nothing, reason=f"not measurable: {reason}")
    rng = np.random.default_rng(seed)
    if len(questions) > most:
        rows = np.sort(rng.choice(len(questions), size=most, replace=False))
        questions, group = [questions[row] for row in rows.tolist()], group[rows]
    labels = question_labels(questions)
    features = make_features(questions)
    scores = np.zeros((len(questions), CHOICES))
    numbers = np.unique(group)
    for held in numbers:
        weights = _fit_weights(features, labels, np.flatnonzero(group != held))
        rows = np.flatnonzero(group == held)
        scores[rows] = (features[_response_rows(rows)] @ weights).reshape(-1, CHOICES)
    shares = rule_shares(np.round(scores, _EQUAL_DIGITS), labels)
    return CrossFit(shares, len(questions), len(numbers))


def fold_groups(questions: Sequence[StageQuestion]) -> tuple[NDArray[np.int64], str]:
    """Return the group of folds of each question, (n,), and why no group can be held out, else an empty text.

    Questions without a match fold are grouped by the texts that they share: a fold's questions are connected by
    their wrong choices.
    """
    if all(question.item.fold for question in questions):
        names = [question.item.fold for question in questions]
    else:
        names = _shared_text_components(questions)
    group_of = spread_evenly(names, min(MAX_GROUPS, len(set(names))))
    groups = np.array([group_of[name] for name in names], dtype=np.int64)
    sizes = np.bincount(groups)
    if len(sizes) < 2:  # noqa: PLR2004 - one is held out
        return groups, "all questions are in one match fold"
    outside = len(names) - int(sizes.max())
    few = f"only {outside} questions are outside of the largest match fold; {MIN_GROUP} are needed"
    return groups, few if outside < MIN_GROUP else ""


def _shared_text_components(questions: Sequence[StageQuestion]) -> list[str]:
    """Return for each question the name of its component: two questions with a common text are connected."""
    parents = list(range(len(questions)))

    def root(row: int) -> int:
        while parents[row] != row:
            parents[row] = parents[parents[row]]
            row = parents[row]
        return row

    first_with: dict[tuple[str, ...], int] = {}
    for row, question in enumerate(questions):
        for response in question.responses:
            text = tuple(class_tokens(response, question.item.objects))
            parents[root(row)] = root(first_with.setdefault(text, row))
    return [f"{root(row):09d}" for row in range(len(questions))]


def _response_rows(rows: NDArray[np.int64]) -> NDArray[np.int64]:
    """Return the rows of the responses of questions: (4 n,)."""
    return (rows[:, None] * CHOICES + np.arange(CHOICES)).ravel()


def _fit_weights(features: Matrix, labels: NDArray[np.int64], rows: NDArray[np.int64]) -> NDArray[np.float64]:
    """Return the weights of a logistic model that prefers the right response of a question to each wrong one.

    It learns from the differences between the right response and the wrong ones, so what all four have in common
    does not matter (a conditional logit of pairs; Bradley & Terry 1952, doi:10.2307/2334029).

    Args:
        features: (4 n, d), the responses of each question in order. labels: (n,). rows: the training questions.
    """
    right = np.repeat(rows * CHOICES + labels[rows], CHOICES - 1)
    all_rows = _response_rows(rows).reshape(-1, CHOICES)
    wrong = all_rows[all_rows != (rows * CHOICES + labels[rows])[:, None]]
    differences = (features[right] - features[wrong]).tocsc()
    used = np.flatnonzero(np.diff(differences.indptr))
    weights = np.zeros(features.shape[1])
    if not len(used):
        return weights
    signs = np.where(np.arange(len(right)) % 2, -1.0, 1.0)  # the solver wants both classes
    model = LogisticRegression(solver="liblinear", fit_intercept=False, max_iter=_ITERATIONS, tol=_TOLERANCE)
    model.fit(scipy.sparse.diags(signs) @ differences[:, used], signs)
    weights[used] = model.coef_[0]
    return weights


def _response_features(questions: Sequence[StageQuestion]) -> Matrix:
    """Return (4 n, d): the words and pairs of neighbouring words of each response, its length and number of tags."""
    columns: dict[str | tuple[str, str], int] = {}
    indices: list[int] = []
    starts = [0]
    for question in questions:
        for response in question.responses:
            tokens = class_tokens(response, question.item.objects)
            grams: set[str | tuple[str, str]] = {*tokens, *pairwise(tokens)}
            indices += [columns.setdefault(gram, len(columns)) for gram in sorted(grams, key=str)]
            starts.append(len(indices))
    ones = np.ones(len(indices))
    grams_matrix = scipy.sparse.csr_matrix((ones, indices, starts), shape=(len(starts) - 1, len(columns)))
    lengths = [
        [np.log1p(len(response)), float(len(tagged_objects(response)))]
        for question in questions
        for response in question.responses
    ]
    return scipy.sparse.hstack([grams_matrix, _scale(lengths)], format="csr")


def _query_features(questions: Sequence[StageQuestion]) -> Matrix:
    """Return (4 n, d): the response's features, pairs of words of the query and of the response, and overlaps."""
    numbers: dict[str, int] = {}
    indices: list[NDArray[np.int64]] = []
    starts = [0]
    overlaps: list[list[float]] = []
    for question in questions:
        query = _word_numbers(class_tokens(question.query, question.item.objects), numbers)
        query_words, query_tags = set(words(question.query)), tagged_objects(question.query)
        for response in question.responses:
            found = _word_numbers(class_tokens(response, question.item.objects), numbers)
            pairs = (query[:, None] * _PAIR_FACTOR + found[None, :]) * _PAIR_FACTOR >> 11
            columns = np.unique(pairs.ravel() % PAIR_COLUMNS)
            indices.append(columns)
            starts.append(starts[-1] + len(columns))
            shared_words = len(query_words & set(words(response)))
            overlaps.append([float(shared_words), float(len(query_tags & tagged_objects(response)))])
    columns = np.concatenate(indices)
    pair_matrix = scipy.sparse.csr_matrix(
        (np.ones(len(columns)), columns, starts), shape=(len(starts) - 1, PAIR_COLUMNS)
    )
    return scipy.sparse.hstack([_response_features(questions), pair_matrix, _scale(overlaps)], format="csr")


def _tag_features(questions: Sequence[StageQuestion]) -> Matrix:
    """Return (4 n, 5): tags of each response, those of the query and the others, repetitions, and agreement.

    Agreement is the mean number of other responses with the same tag: wrong responses prefer the tags of the question
    and of its right response, so that the right one may be recognised by what the others have in common.
    """
    rows: list[list[float]] = []
    for question in questions:
        asked = tagged_objects(question.query)
        tagged = [tagged_objects(response) for response in question.responses]
        holders = Counter(tag for tags in tagged for tag in tags)
        for response, tags in zip(question.responses, tagged, strict=True):
            mentions = sum(len(token) for token in response if not isinstance(token, str))
            shared = len(tags & asked)
            agreement = sum(holders[tag] - 1 for tag in tags) / len(tags) if tags else 0.0
            rows.append(
                [float(len(tags)), float(shared), len(tags) - shared, mentions - len(tags), agreement]
            )
    return _scale(rows)


def _word_numbers(tokens: Sequence[str], numbers: dict[str, int]) -> NDArray[np.int64]:
    return np.array(
        [numbers.setdefault(token, len(numbers) + 1) for token in dict.fromkeys(tokens)], dtype=np.int64
    )


def _scale(values: Sequence[Sequence[float]]) -> Matrix:
    """Return the columns divided by their standard deviations."""
    array = np.array(values, dtype=np.float64)
    deviations = array.std(axis=0)
    return scipy.sparse.csr_matrix(array / np.where(deviations > 0, deviations, 1.0))
