"""Multiple-choice questions made from synthetic triplets, with leaks that are planted in them.

Wrong responses are drawn by random assignments within a fold, without any relevance: each response is right once and
wrong three times. Foreign tags go to objects of the same class, to different ones where there are enough, and with a
given probability to those of the query or of the right response.
"""

from collections.abc import Callable, Mapping, Sequence

import numpy as np
from scipy.optimize import linear_sum_assignment

from curation.evaluation.choice_items import (
    CHOICES,
    ChoiceItem,
    Stage,
    StageChoices,
    Text,
    Token,
    plain_text,
    replace_responses,
    tagged_objects,
)
from hits.domain.tagged_text import Segments, mentions, tokenize_segments
from tests.support.vcr.synthetic import SyntheticTriplet, make_synthetic_set

FORBIDDEN = 1e6
NEUTRAL_WORDS: Mapping[str, str] = {
    "she": "they",
    "he": "they",
    "her": "the",
    "him": "them",
    "his": "the",
    "hers": "theirs",
}


PREFERRED: Mapping[Stage, float] = {Stage.ANSWER: 0.7, Stage.RATIONALE: 0.85}
"""With these probabilities tag overlap is near chance."""


def make_items(
    fold_sizes: Mapping[str, int], *, preferred: Mapping[Stage, float] = PREFERRED, seed: int = 0
) -> list[ChoiceItem]:
    """Return questions with both stages, by fold and match index.

    Args:
        preferred: probability that a tag of a wrong response goes to an object of the query or of the right response.
    """
    made = make_synthetic_set(fold_sizes, seed=seed)
    rng = np.random.default_rng(seed + 1)
    items: list[ChoiceItem] = []
    for fold in fold_sizes:
        members = [made.triplets[number] for number in made.members(fold)]
        sources = {stage: _draw_sources(members, stage, rng) for stage in Stage}
        items += [
            _make_item(members, index, {stage: sources[stage][index] for stage in Stage}, preferred, rng)
            for index in range(len(members))
        ]
    return items


def _segments(triplet: SyntheticTriplet, stage: Stage) -> Segments:
    return triplet.answer if stage is Stage.ANSWER else triplet.rationale


def _draw_sources(
    members: Sequence[SyntheticTriplet], stage: Stage, rng: np.random.Generator
) -> list[list[int]]:
    """Return for each question the members whose responses are its wrong choices, three different ones."""
    needed = [
        frozenset(triplet.objects[index] for index in mentions(_segments(triplet, stage)))
        for triplet in members
    ]
    present = [frozenset(triplet.objects) for triplet in members]
    costs = rng.random((len(members), len(members)))
    np.fill_diagonal(costs, FORBIDDEN)
    for column, classes in enumerate(needed):
        if len(classes) > 1 or "person" not in classes:
            costs[[row for row, found in enumerate(present) if not classes <= found], column] = FORBIDDEN
    sources: list[list[int]] = [[] for _ in members]
    for _ in range(CHOICES - 1):
        rows, columns = linear_sum_assignment(costs)
        assert costs[rows, columns].max() < FORBIDDEN, "no assignment; use another seed"
        for row, column in zip(rows.tolist(), columns.tolist(), strict=True):
            sources[row].append(column)
        costs[rows, columns] = FORBIDDEN
    return sources


def _make_item(
    members: Sequence[SyntheticTriplet],
    index: int,
    sources: Mapping[Stage, Sequence[int]],
    preferred: Mapping[Stage, float],
    rng: np.random.Generator,
) -> ChoiceItem:
    triplet = members[index]
    question = plain_text(tokenize_segments(triplet.question, closing="?"))
    right = {stage: plain_text(tokenize_segments(_segments(triplet, stage), closing=".")) for stage in Stage}
    stages = {}
    for stage in Stage:
        asked = question + (right[Stage.ANSWER] if stage is Stage.RATIONALE else ())
        liked = tagged_objects(asked) | tagged_objects(right[stage])
        responses = [right[stage]]
        for source in sources[stage]:
            wrong = members[source]
            mapping = _remap(wrong, _segments(wrong, stage), triplet, liked, preferred[stage], rng)
            text = plain_text(tokenize_segments(_segments(wrong, stage), closing="."))
            responses.append(tuple(_map_token(token, mapping) for token in text))
        order = rng.permutation(CHOICES).tolist()
        origin = [index, *sources[stage]]
        stages[stage] = StageChoices(
            responses=tuple(responses[position] for position in order),
            label=order.index(0),
            sources=tuple(origin[position] for position in order),
            rounds=tuple(order),
        )
    return ChoiceItem(
        annot_id=triplet.id.replace("/", "-"),
        image=triplet.image,
        objects=triplet.objects,
        question=question,
        stages=stages,
        right_answer=right[Stage.ANSWER],
        movie=triplet.movie,
        fold=triplet.fold,
        match_index=index,
    )


def _remap(
    wrong: SyntheticTriplet,
    segments: Segments,
    triplet: SyntheticTriplet,
    liked: frozenset[int],
    preferred: float,
    rng: np.random.Generator,
) -> dict[int, int]:
    mapping: dict[int, int] = {}
    for index in dict.fromkeys(mentions(segments)):
        same = [i for i, name in enumerate(triplet.objects) if name == wrong.objects[index]]
        free = [i for i in same if i not in mapping.values()] or same
        near = [i for i in free if i in liked]
        pool = near if near and rng.random() < preferred else free
        mapping[index] = pool[int(rng.integers(len(pool)))]
    return mapping


def _map_token(token: Token, mapping: Mapping[int, int]) -> Token:
    return token if isinstance(token, str) else tuple(sorted({mapping[index] for index in token}))


Change = Callable[[Text, frozenset[int], bool], Text]
"""Returns a response's tokens, given the objects of its query, and whether it is the right one."""


def plant(items: Sequence[ChoiceItem], change: Change, *, share: float, seed: int = 0) -> list[ChoiceItem]:
    """Return the items with a leak planted into both stages of a random share of them."""
    rng = np.random.default_rng(seed)
    planted = []
    for item in items:
        if rng.random() >= share:
            planted.append(item)
            continue
        changed: dict[Stage, tuple[Text, ...]] = {}
        for stage, choices in item.stages.items():
            query = item.question
            if stage is Stage.RATIONALE:
                query = query + item.stages[Stage.ANSWER].responses[item.stages[Stage.ANSWER].label or 0]
            asked = tagged_objects(query)
            changed[stage] = tuple(
                change(text, asked, position == choices.label)
                for position, text in enumerate(choices.responses)
            )
        new = replace_responses(item, changed)
        planted.append(new)
    return planted


def share_tags(text: Text, asked: frozenset[int], is_right: bool) -> Text:
    """Plant tag overlap: the right response tags objects of its query in place of its own, each once."""
    if not is_right:
        return text
    left = iter(sorted(asked))
    return tuple(token if isinstance(token, str) else (next(left, token[0]),) for token in text)


def use_pronoun(text: Text, _asked: frozenset[int], is_right: bool) -> Text:
    """Plant a pronoun: the right response has one, the wrong ones have none; lengths stay."""
    if is_right:
        position = next(i for i, token in enumerate(text) if isinstance(token, str) and token.isalpha())
        return (*text[:position], "her", *text[position + 1 :])
    return tuple(NEUTRAL_WORDS.get(token, token) if isinstance(token, str) else token for token in text)


def add_words(text: Text, _asked: frozenset[int], is_right: bool) -> Text:
    """Plant length: the right response ends with two more words."""
    return (*text[:-1], "right", "now", *text[-1:]) if is_right else text
