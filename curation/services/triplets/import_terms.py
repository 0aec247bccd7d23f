"""The licence and the citation that a person types for an import."""

from hits.domain.answers.text import TextError, clean_line
from hits.services.errors import Refused

MAX_LICENCE, MAX_CITATION = 120, 400


def check_import_terms(licence: str, citation: str) -> tuple[str, str]:
    """Return both texts, cleaned.

    Raises:
        Refused: one is too long or has control characters.
    """
    cleaned = []
    for name, text, maximum in (("licence", licence, MAX_LICENCE), ("citation", citation, MAX_CITATION)):
        try:
            cleaned.append(clean_line(text, maximum=maximum))
        except TextError as error:
            raise Refused(f"{name}: {error}") from error
    return cleaned[0], cleaned[1]
