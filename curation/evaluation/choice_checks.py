"""Checks of a question set besides its shortcut rules: copies, tags, labels and sources of the responses.

Each returns counts, and the cases themselves. Sources: Zellers et al. 2019 §4 and §C (each response is wrong exactly
three times; tags of wrong responses), doi:10.1109/CVPR.2019.00688; Zhang et al. 2024, arXiv:2405.16934 (object
tags that are neglected).
"""

import math
from collections import Counter, defaultdict
from collections.abc import Iterable, Mapping, Sequence
from dataclasses import dataclass
from typing import Any

import numpy as np
from numpy.typing import NDArray

from curation.evaluation.choice_items import (
    CHOICES,
    ChoiceItem,
    Stage,
    StageQuestion,
    Text,
    class_tokens,
    to_segments,
)
from hits.domain.tagged_text import class_text

NEAR_COPY_JACCARD = 0.8
NEAR_COPY_COSINE = 0.95
MIN_LABEL_P = 0.001
MAX_TOKENS_BETWEEN = 4  # of two tags of one clause
HUBS = 20
_CLAUSE_ENDS = frozenset('.,;:!?"“”()') | {
    "and",
    "or",
    "but",
    "because",
    "since",
    "while",
    "when",
    "that",
    "if",
    "so",
    "as",
    "then",
    "who",
    "which",
}
Case = Mapping[str, Any]


@dataclass(frozen=True, slots=True)
class Listing:
    """The number of cases, and the cases, each with the question's id and the response's position."""

    count: int
    cases: tuple[Case, ...]

    def as_json(self, limit: int | None = None) -> dict[str, Any]:
        """Return the count and the first ``limit`` cases, or all."""
        return {"count": self.count, "cases": [dict(case) for case in self.cases[:limit]]}


def _list_cases(cases: Iterable[Case]) -> Listing:
    found = tuple(cases)
    return Listing(len(found), found)


def near_copies(questions: Sequence[StageQuestion], cosines: NDArray[np.floating] | None = None) -> Listing:
    """List the wrong responses that nearly copy the right one, which may therefore be right too.

    A near copy shares at least 80 % of the distinct tokens of both (Jaccard), with tags as classes, or its vector has
    a cosine of at least .95 with that of the right one.

    Args:
        cosines: (n, 4), of each response with the right one.
    """

    def cases() -> Iterable[Case]:
        for row, question in enumerate(questions):
            sets = [frozenset(class_tokens(text, question.item.objects)) for text in question.responses]
            for choice in range(CHOICES):
                if choice == question.label:
                    continue
                found = jaccard(sets[choice], sets[question.label])
                cosine = None if cosines is None else float(cosines[row, choice])
                if found >= NEAR_COPY_JACCARD or (cosine is not None and cosine >= NEAR_COPY_COSINE):
                    yield _case(question, choice, jaccard=found, cosine=cosine)

    return _list_cases(cases())


def jaccard(first: frozenset[str], second: frozenset[str]) -> float:
    """Return the share of the distinct tokens of both texts that both have, from 0 to 1."""
    union = first | second
    return len(first & second) / len(union) if union else 1.0


def _case(question: StageQuestion, choice: int, **facts: Any) -> Case:
    return {"annot_id": question.item.annot_id, "choice": choice, **facts}


@dataclass(frozen=True, slots=True)
class AbsentClasses:
    """Responses that name a class which their image does not have, and the shares of right and wrong ones."""

    listing: Listing
    right: float | None
    wrong: float | None


def absent_classes(questions: Sequence[StageQuestion]) -> AbsentClasses:
    """List the responses that name by a word a class of objects that their image does not have.

    A response whose tag had no counterpart in the image names it by a word, such as "the car": if only wrong
    responses do so, they can be excluded by the image's list of objects alone. The classes are those of all images.
    """
    known = {name.lower() for question in questions for name in question.item.objects}
    cases: list[Case] = []
    for question in questions:
        present = {name.lower() for name in question.item.objects}
        for choice, response in enumerate(question.responses):
            spoken = {token.lower() for token in response if isinstance(token, str)}
            absent = sorted((spoken & known) - present)
            if absent:
                cases.append(_case(question, choice, classes=absent, is_right=choice == question.label))
    right, n = sum(case["is_right"] for case in cases), len(questions)
    return AbsentClasses(
        _list_cases(cases),
        right=right / n if n else None,
        wrong=(len(cases) - right) / (n * (CHOICES - 1)) if n else None,
    )


def repeated_tags(questions: Sequence[StageQuestion]) -> Listing:
    """List the responses in which one object is subject and object of a clause: "[person1] is kissing [person1]".

    Two tags of a clause follow each other with one to four words between them, without a conjunction or a mark, and
    share an object; a possessive ("[person1] takes [person1]'s coat") is left out.
    """
    return _list_cases(
        _case(question, choice, objects=found)
        for question in questions
        for choice, response in enumerate(question.responses)
        if (found := _repeated_objects(response))
    )


def _repeated_objects(response: Sequence[Any]) -> list[int]:
    found: set[int] = set()
    previous: frozenset[int] = frozenset()
    between = 0
    for position, token in enumerate(response):
        if isinstance(token, str):
            between += 1
            if token.lower() in _CLAUSE_ENDS:
                previous = frozenset()
            continue
        following = response[position + 1] if position + 1 < len(response) else ""
        is_possessive = following in {"'", "’"}
        if previous and 0 < between <= MAX_TOKENS_BETWEEN and not is_possessive:
            found |= previous & set(token)
        previous, between = frozenset(token), 0
    return sorted(found)


def frequent_texts(questions: Sequence[StageQuestion], *, limit: int = HUBS) -> list[dict[str, Any]]:
    """Return the texts that are choices of most questions: generic responses attract many questions.

    right, wrong: in how many questions the text is right, and wrong. Only texts that are wrong more than three times.
    """
    right: Counter[tuple[str, ...]] = Counter()
    wrong: Counter[tuple[str, ...]] = Counter()
    shown: dict[tuple[str, ...], tuple[Text, Sequence[str]]] = {}
    for question in questions:
        for choice, response in enumerate(question.responses):
            key = tuple(class_tokens(response, question.item.objects))
            (right if choice == question.label else wrong)[key] += 1
            shown.setdefault(key, (response, question.item.objects))
    ordered = sorted(wrong.items(), key=lambda pair: (-pair[1], pair[0]))
    return [
        {"text": class_text(to_segments(shown[key][0]), shown[key][1]), "right": right[key], "wrong": count}
        for key, count in ordered[:limit]
        if count > CHOICES - 1
    ]


def hubs(
    mean_relevance: NDArray[np.floating], names: Sequence[str], *, limit: int = HUBS
) -> list[dict[str, Any]]:
    """Return the responses with the highest mean relevance over all queries: hubs, which make matching slow.

    Args:
        mean_relevance: (n,) from 0 to 1. names: the id of each response.
    """
    order = np.lexsort((np.arange(len(names)), -np.asarray(mean_relevance, dtype=np.float64)))[:limit]
    return [
        {"response": names[row], "mean_relevance": round(float(mean_relevance[row]), 6)}
        for row in order.tolist()
    ]


def label_uniformity(labels: NDArray[np.integer]) -> dict[str, Any]:
    """Return how often each position is right, and the p of a χ² test of equal probabilities.

    Args:
        labels: (n,) from 0 to 3.
    """
    counts = np.bincount(labels, minlength=CHOICES)
    n = int(counts.sum())
    if not n:
        return {"counts": counts.tolist(), "chi_squared": None, "p": None}
    statistic = float(((counts - n / CHOICES) ** 2).sum() / (n / CHOICES))
    return {"counts": counts.tolist(), "chi_squared": statistic, "p": _chi_squared_p(statistic)}


def _chi_squared_p(statistic: float) -> float:
    """Return P(X > statistic) for χ² with three degrees of freedom, in closed form."""
    half = statistic / 2
    return math.erfc(math.sqrt(half)) + math.sqrt(4 * half / math.pi) * math.exp(-half)


def source_counts(items: Iterable[ChoiceItem], stage: Stage) -> dict[str, Any]:
    """Return how often each question's response is a wrong choice; in a complete fold, exactly three times.

    times: how many responses are wrong that many times. exceptions: those of complete folds with another number, and
    any with more; a fold is complete if its match indices have no gap. misplaced: questions whose right choice is
    not their own. without_sources: questions that were left out, because their sources or match index are unknown.
    """
    folds: dict[str, dict[int, list[int]]] = defaultdict(dict)
    left_out = 0
    misplaced: list[Case] = []
    for item in items:
        choices = item.stages.get(stage)
        if choices is None:
            continue
        if not choices.sources or item.match_index is None or not item.fold or choices.label is None:
            left_out += 1
            continue
        wrong = list(choices.sources)
        own = wrong.pop(choices.label)
        folds[item.fold][item.match_index] = wrong
        if own != item.match_index:
            misplaced.append({"annot_id": item.annot_id, "source": own})
    times: Counter[int] = Counter()
    exceptions: list[Case] = []
    for fold, questions in sorted(folds.items()):
        used = Counter(source for wrong in questions.values() for source in wrong)
        is_complete = used.keys() <= questions.keys() and max(questions) == len(questions) - 1
        for index in sorted(questions.keys() | used.keys()):
            times[used[index]] += 1
            if used[index] > CHOICES - 1 or (is_complete and used[index] != CHOICES - 1):
                exceptions.append({"fold": fold, "match_index": index, "wrong": used[index]})
    return {
        "times": {str(count): number for count, number in sorted(times.items())},
        "exceptions": _list_cases(exceptions),
        "misplaced": _list_cases(misplaced),
        "folds": len(folds),
        "without_sources": left_out,
    }
