"""Changed copies of multiple-choice questions, which show what a model depends on.

``singular`` and ``plural`` change only how people are named: the right response gets a pronoun instead of the
question's tag, and the wrong ones get the tag instead of a pronoun. ``mask-top1`` and ``keep-top1``, 3 and 5 mask the
words that matter most to a model, or all others. A model that looks at the image loses little. Source: Ye & Kovashka
2021, "Methods to Evaluate the Shortcut Effects", doi:10.1609/aaai.v35i4.16428.
"""

import re
from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass

from curation.evaluation.choice_items import (
    ChoiceItem,
    StageChoices,
    StageQuestion,
    Text,
    Token,
    replace_responses,
    stage_question,
    tagged_objects,
)
from curation.records import InvalidInput
from hits.domain.images.detections import is_person

MASK = "[MASK]"
DEFAULT_PRONOUN = "he"
_SUBJECTS = frozenset({"he", "she"})
_PLURAL = "they"
_MALE = frozenset({"he", "his", "him"})
_FEMALE = frozenset({"she", "her", "hers"})
_MASKING_PATTERN = re.compile(r"(mask|keep)-top([1-9]\d?)")
TokenLosses = Callable[[StageQuestion], Sequence[Sequence[float]]]
"""Returns for each token of each response the model's loss if the token is masked: four lists, (tokens,) each."""


@dataclass(frozen=True, slots=True)
class Masking:
    """Which tokens are masked: the ``top`` most telling ones (``keep`` is False), or all except them."""

    top: int
    keep: bool


def parse_masking(name: str) -> Masking | None:
    """Return the masking that a name such as ``keep-top3`` stands for; None for other names."""
    match = _MASKING_PATTERN.fullmatch(name)
    return Masking(int(match[2]), match[1] == "keep") if match else None


def is_perturbation(name: str) -> bool:
    """Return whether a name stands for a changed copy: ``singular``, ``plural``, or such as ``mask-top1``."""
    return name in RENAMINGS or parse_masking(name) is not None


def perturb_items(items: Sequence[ChoiceItem], name: str) -> list[ChoiceItem]:
    """Return changed copies of the questions to which ``singular`` or ``plural`` applies; they keep their ids.

    ``singular``: questions that tag one person. ``plural``: questions whose only tag is a group of people.

    Raises:
        InvalidInput: the name is not known.
    """
    if name not in _RENAMINGS:
        raise InvalidInput(f"perturb: {name!r} is not known; use {', '.join(_RENAMINGS)}")
    find_tag, rename = _RENAMINGS[name]
    changed = []
    for item in items:
        tag = find_tag(item)
        if tag is not None:
            known = {stage: found for stage, found in item.stages.items() if found.label is not None}
            renamed = {stage: rename(choices, item, tag) for stage, choices in known.items()}
            changed.append(replace_responses(item, renamed))
    return changed


def _only_person(item: ChoiceItem) -> Token | None:
    people = _people(item.question, item.objects)
    return (people[0],) if len(people) == 1 else None


def _people(text: Text, objects: Sequence[str]) -> list[int]:
    """Return the distinct people that a text tags."""
    return sorted(index for index in tagged_objects(text) if is_person(objects[index]))


def _only_group(text: Text, objects: Sequence[str]) -> Token | None:
    """Return the tag of a text that has one tag, if it is a group of people."""
    tags = [token for token in text if not isinstance(token, str)]
    if len(tags) != 1 or len(tags[0]) < 2 or not all(is_person(objects[i]) for i in tags[0]):  # noqa: PLR2004 - a group
        return None
    return tuple(sorted(tags[0]))


def _rename_person(choices: StageChoices, item: ChoiceItem, tag: Token) -> tuple[Text, ...]:
    """Rename the person of each response that names one by a tag, or by one of "he" and "she"."""

    def changed(position: int, response: Text) -> Text:
        people = _people(response, item.objects)
        pronouns = {token.lower() for token in response if isinstance(token, str)} & _SUBJECTS
        if len(people) + len(pronouns) != 1:
            return response
        named: Token | None = (people[0],) if people else None
        if position == choices.label:
            return _replace_tag(response, named, _likely_pronoun(response, item.question))
        return _replace_names(response, named, pronouns, tag)

    return tuple(changed(position, response) for position, response in enumerate(choices.responses))


def _rename_group(choices: StageChoices, item: ChoiceItem, tag: Token) -> tuple[Text, ...]:
    """Rename the group of each response whose only tag is a group of people, or that has "they"."""

    def changed(position: int, response: Text) -> Text:
        named = _only_group(response, item.objects)
        if position == choices.label:
            return _replace_tag(response, named, _PLURAL)
        return _replace_names(response, named, {_PLURAL}, tag)

    return tuple(changed(position, response) for position, response in enumerate(choices.responses))


def _replace_tag(response: Text, named: Token | None, pronoun: str) -> Text:
    """Return the response with a pronoun in place of the tag; at its start in upper case."""
    return tuple(
        (pronoun.capitalize() if position == 0 else pronoun) if _is_tag(token, named) else token
        for position, token in enumerate(response)
    )


def _replace_names(response: Text, named: Token | None, pronouns: set[str], tag: Token) -> Text:
    """Return the response with the question's tag in place of its own tag and of the pronouns."""
    return tuple(
        tag if _is_tag(token, named) or (isinstance(token, str) and token.lower() in pronouns) else token
        for token in response
    )


def _is_tag(token: Token, named: Token | None) -> bool:
    return not isinstance(token, str) and named is not None and tuple(sorted(token)) == named


def _likely_pronoun(response: Text, question: Text) -> str:
    """Return "he" or "she", as the other pronouns of the response suggest, else those of the question."""
    for text in (response, question):
        tokens = [token.lower() for token in text if isinstance(token, str)]
        male, female = (sum(token in known for token in tokens) for known in (_MALE, _FEMALE))
        if male != female:
            return "he" if male > female else "she"
    return DEFAULT_PRONOUN


_RENAMINGS: Mapping[
    str,
    tuple[
        Callable[[ChoiceItem], Token | None],
        Callable[[StageChoices, ChoiceItem, Token], tuple[Text, ...]],
    ],
] = {
    "singular": (_only_person, _rename_person),
    "plural": (lambda item: _only_group(item.question, item.objects), _rename_group),
}
RENAMINGS = tuple(_RENAMINGS)


def mask_responses(
    question: StageQuestion, losses: Sequence[Sequence[float]], masking: Masking
) -> tuple[Text, ...]:
    """Return the responses of a question with tokens masked.

    Args:
        losses: for each token of each response, a model's loss for the right response if the token is masked. The
            highest losses are the most telling tokens; of equal ones the last, as published.

    Raises:
        InvalidInput: a response has another number of tokens than losses.
    """
    return tuple(
        _mask_tokens(response, values, masking, question.item.annot_id)
        for response, values in zip(question.responses, losses, strict=True)
    )


def _mask_tokens(response: Text, losses: Sequence[float], masking: Masking, name: str) -> Text:
    if len(losses) != len(response):
        raise InvalidInput(
            f"question {name}: {len(losses)} losses for {len(response)} tokens; give one for each"
        )
    ordered = sorted(range(len(losses)), key=lambda position: (losses[position], position))
    top = set(ordered[-masking.top :])
    return tuple(
        token if (position in top) == masking.keep else MASK for position, token in enumerate(response)
    )


def mask_items(items: Sequence[ChoiceItem], losses: TokenLosses, masking: Masking) -> list[ChoiceItem]:
    """Return copies of the questions with known labels, with tokens of each stage masked by a model's losses."""
    masked = []
    for item in items:
        questions = [found for stage in item.stages if (found := stage_question(item, stage)) is not None]
        if questions:
            responses = {found.stage: mask_responses(found, losses(found), masking) for found in questions}
            masked.append(replace_responses(item, responses))
    return masked
