"""What every written scene has to fulfil, on the writing page, in files and in revisions (Ventura et al. 2025 §3)."""

from collections.abc import Mapping
from typing import Any

from hits.domain.answers.scene_facets import MAX_CHARACTERS, MAX_REASON_CHARACTERS, check_temporal
from hits.domain.answers.text import TextError, clean_line
from hits.domain.answers.word_diff import split_into_words
from hits.domain.schema import FieldError

SCENE_TEXTS = ("premise", "plausible", "implausible")
MAX_CULTURE_CHARACTERS = 80
MAX_DOMAIN_CHARACTERS = 60
# The longest text of each field, in characters.
MAX_LENGTHS: Mapping[str, int] = {
    **dict.fromkeys(SCENE_TEXTS, MAX_CHARACTERS),
    "why": MAX_REASON_CHARACTERS,
    "culture": MAX_CULTURE_CHARACTERS,
}
EMPTY_TEXT = "is empty: describe what the picture shows"
EMPTY_REASON = "is empty: say in one sentence why the more plausible hypothesis fits better"
SAME_HYPOTHESES = "has the same words as the more plausible hypothesis: change what makes it less plausible"


def clean_scene(fields: Mapping[str, str]) -> tuple[dict[str, str], list[FieldError]]:
    """Return the normalized fields of a scene, and their problems; a refused text is empty.

    Args:
        fields: ``SCENE_TEXTS``, ``why``, ``culture``, ``direction`` and ``duration``; other fields stay as they are.
    """
    cleaned, problems = dict(fields), []
    for name, maximum in MAX_LENGTHS.items():
        try:
            cleaned[name] = _clean_text(name, fields[name], maximum)
        except TextError as error:
            cleaned[name] = ""
            problems.append(FieldError(name, str(error)))
    if cleaned["plausible"] and are_alike(cleaned["plausible"], cleaned["implausible"]):
        problems.append(FieldError("implausible", SAME_HYPOTHESES))
    temporal = check_temporal(fields["direction"], fields["duration"])
    if temporal:
        problems.append(FieldError("duration", temporal))
    return cleaned, problems


def _clean_text(name: str, raw: str, maximum: int) -> str:
    text = clean_line(raw, maximum=maximum)
    if name != "culture" and not split_into_words(text):
        raise TextError(EMPTY_REASON if name == "why" else EMPTY_TEXT)
    return text


def are_alike(first: str, second: str) -> bool:
    """Return whether two texts have the same words in the same order; case and punctuation make no difference."""
    return _keys(first) == _keys(second)


def scene_key(premise: str, hypotheses: tuple[str, str]) -> tuple[Any, ...]:
    """Return what two scenes share if they say the same, in whatever order their hypotheses are."""
    return (_keys(premise), *sorted(_keys(text) for text in hypotheses))


def _keys(text: str) -> tuple[str, ...]:
    return tuple(word.key for word in split_into_words(text))


def page_limits() -> dict[str, Any]:
    """Return the rules as JSON for a page's script: the longest text of each field, in characters."""
    return {"characters": dict(MAX_LENGTHS)}
