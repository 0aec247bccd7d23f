"""Gendered pronouns in English text. A photo cannot tell which one somebody uses."""

import re
from dataclasses import dataclass
from enum import StrEnum


class Form(StrEnum):
    """What a pronoun does in its sentence, so that the fitting form of "they" can be proposed."""

    SUBJECT = "subject"
    OBJECT = "object"
    POSSESSIVE = "possessive"
    REFLEXIVE = "reflexive"
    HER = "her"  # object or possessive: the word alone does not tell


@dataclass(frozen=True, slots=True)
class Pronoun:
    """One pronoun as it was written; ``start`` and ``end`` count characters."""

    text: str
    start: int
    end: int
    form: Form


_FORMS = {
    "he": Form.SUBJECT,
    "she": Form.SUBJECT,
    "him": Form.OBJECT,
    "her": Form.HER,
    "his": Form.POSSESSIVE,
    "hers": Form.POSSESSIVE,
    "himself": Form.REFLEXIVE,
    "herself": Form.REFLEXIVE,
}
# "she's", "he’d", "she'll" belong together. "she-wolf" and "He-Man" are names of something else.
_PRONOUN = re.compile(
    r"(?<!\w)(?<!\w-)(?P<word>himself|herself|hers|her|him|his|she|he)(?:['’ʼ](?:s|d|ll))?(?!\w)(?!-\w)",
    re.IGNORECASE,
)


def find_pronouns(text: str) -> list[Pronoun]:
    """Return the gendered pronouns in ``text``, in their order, contractions included."""
    return [
        Pronoun(match.group(), match.start(), match.end(), _FORMS[match["word"].lower()])
        for match in _PRONOUN.finditer(text)
    ]
