"""Gendered pronouns in English text. A photo does not show which pronoun a person uses."""

import re
from dataclasses import dataclass
from enum import StrEnum


class PronounForm(StrEnum):
    """The grammatical role of a pronoun, from which the matching form of "they" follows."""

    SUBJECT = "subject"
    OBJECT = "object"
    POSSESSIVE = "possessive"
    REFLEXIVE = "reflexive"
    HER = "her"  # object or possessive: the word alone is ambiguous


@dataclass(frozen=True, slots=True)
class Pronoun:
    """One pronoun as written; ``start`` and ``end`` count characters."""

    text: str
    start: int
    end: int
    form: PronounForm


_FORMS = {
    "he": PronounForm.SUBJECT,
    "she": PronounForm.SUBJECT,
    "him": PronounForm.OBJECT,
    "her": PronounForm.HER,
    "his": PronounForm.POSSESSIVE,
    "hers": PronounForm.POSSESSIVE,
    "himself": PronounForm.REFLEXIVE,
    "herself": PronounForm.REFLEXIVE,
}
# "she's", "he’d" and "she'll" match as a whole. "she-wolf" and "He-Man" do not match.
_PRONOUN_PATTERN = re.compile(
    r"(?<!\w)(?<!\w-)(?P<word>himself|herself|hers|her|him|his|she|he)(?:['’ʼ](?:s|d|ll))?(?!\w)(?!-\w)",
    re.IGNORECASE,
)


def find_pronouns(text: str) -> list[Pronoun]:
    """Return the gendered pronouns in ``text``, in order, with their contractions."""
    return [
        Pronoun(match.group(), match.start(), match.end(), _FORMS[match["word"].lower()])
        for match in _PRONOUN_PATTERN.finditer(text)
    ]
