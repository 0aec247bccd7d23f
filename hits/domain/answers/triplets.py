"""Rules of a question with its answer and rationale: a triplet (Zellers et al. 2019, §3 and §B.3).

The page checks the same rules (``static/js/mentions/rules.js``); a test compares both.
"""

from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from typing import Any, Literal

from pydantic import Field

from hits.domain.answers.evidence import EvidenceRow
from hits.domain.schema import FieldError, Schema
from hits.domain.tagged_text import (
    Segment,
    Segments,
    TaggedText,
    TaggedTextError,
    character_count,
    check_segments,
    count_words,
    display_text,
    dump_segments,
    mentions,
)

MAX_TRIPLETS = 3
MAX_CHARACTERS = 400  # of a displayed text
MAX_SEGMENTS = 400
Likelihood = Literal["likely", "possible", "unlikely"]
LIKELIHOODS: tuple[Likelihood, ...] = ("likely", "possible", "unlikely")  # over 75 %, 25 to 75 %, under 25 %


@dataclass(frozen=True, slots=True)
class WordLimits:
    """The least and the most words of a text."""

    least: int
    most: int


WORDS: Mapping[str, WordLimits] = {
    "question": WordLimits(4, 40),
    "answer": WordLimits(3, 40),
    "rationale": WordLimits(5, 80),
}
TRIPLET_TEXTS = tuple(WORDS)


class WrittenTriplet(Schema):
    """A triplet in an answer, a record or a unit.

    Lengths of answers are checked by ``clean_triplet``, which names the field and the count.
    """

    question: TaggedText = Field(max_length=MAX_SEGMENTS)
    answer: TaggedText = Field(max_length=MAX_SEGMENTS)
    rationale: TaggedText = Field(max_length=MAX_SEGMENTS)
    likelihood: Likelihood

    def texts(self) -> dict[str, list[Segment]]:
        """Return question, answer and rationale as segments."""
        return {name: dump_segments(getattr(self, name)) for name in TRIPLET_TEXTS}


def clean_triplet(
    texts: Mapping[str, Segments], names: Sequence[str], path: str
) -> tuple[dict[str, list[Segment]], list[FieldError]]:
    """Return the normalized texts of a triplet by their names, and the problems; a refused text is empty.

    Args:
        texts: question, answer and rationale as segments.
        names: the class of each object of the image.
        path: the path of the triplet, such as ``triplets[1]``; empty for the answer itself.
    """
    cleaned: dict[str, list[Segment]] = {}
    problems = []
    for name in TRIPLET_TEXTS:
        field = f"{path}.{name}" if path else name
        try:
            cleaned[name] = check_segments(texts[name], len(names))
        except TaggedTextError as error:
            cleaned[name] = []
            problems.append(FieldError(field, str(error)))
            continue
        message = _find_length_problem(name, cleaned[name], names)
        if message:
            problems.append(FieldError(field, message))
    return cleaned, problems


def _find_length_problem(name: str, text: Segments, names: Sequence[str]) -> str:
    limits, count = WORDS[name], count_words(text)
    if count < limits.least:
        return f"the {name} has {count} {_plural(count, 'word')}: use {limits.least} or more"
    if count > limits.most:
        return f"the {name} has {count} words: use {limits.most} or fewer"
    characters = character_count(text, names)
    if characters > MAX_CHARACTERS:
        return f"the {name} has {characters} characters: use {MAX_CHARACTERS} or fewer"
    return ""


def display_triplet(triplet: Mapping[str, Any], names: Sequence[str]) -> dict[str, str]:
    """Return question, answer and rationale as people read them; ``names`` are the classes of the image's objects."""
    return {name: display_text(triplet[name], names) for name in TRIPLET_TEXTS}


def triplet_row(triplet: Mapping[str, Any], names: Sequence[str]) -> EvidenceRow:
    """Return the question, with answer, rationale and likelihood as its value, as people read them."""
    texts = display_triplet(triplet, names)
    return EvidenceRow(
        texts["question"], f"{texts['answer']} · {texts['rationale']} · {triplet['likelihood']}"
    )


def count_missing_mentions(triplets: Sequence[Mapping[str, Any]]) -> int:
    """Return how many more objects must be mentioned: one for each triplet on average (Zellers et al. 2019, §B.3)."""
    mentioned = sum(len(mentions(triplet[name])) for triplet in triplets for name in TRIPLET_TEXTS)
    return max(0, len(triplets) - mentioned)


def describe_missing_mentions(missing: int, triplets: int) -> str:
    """Return the message to a worker who mentions too few objects."""
    if triplets == 1:
        return "mention at least one object of the photo"
    more = f"{missing} more {_plural(missing, 'object')}"
    return f"mention {more} of the photo: at least one for each question on average"


def page_limits() -> dict[str, Any]:
    """Return the rules as JSON for a page's script."""
    return {
        "words": {name: [limits.least, limits.most] for name, limits in WORDS.items()},
        "characters": MAX_CHARACTERS,
        "likelihoods": list(LIKELIHOODS),
    }


def _plural(count: int, word: str) -> str:
    return word if count == 1 else f"{word}s"
