"""Values that people type: cleaned for storage, or refused with the field's name and the fix."""

from hits import registry
from hits.domain.answers.text import TextError, clean_line
from hits.kind import HitKind
from hits.services.errors import Refused


def get_kind_or_refuse(name: str) -> HitKind:
    """Return the kind of that name. Raises Refused."""
    try:
        return registry.get_kind(name)
    except LookupError as error:
        raise Refused(f"kind: {error}") from error


def clean_field(field: str, typed: str, maximum: int) -> str:
    """Return one line of text. Raises Refused."""
    try:
        return clean_line(typed, maximum=maximum)
    except TextError as error:
        raise Refused(f"{field}: it {error}") from error


def require_reason(field: str, text: str, maximum: int, purpose: str) -> str:
    """Return a reason that somebody must write; ``purpose`` says why. Raises Refused."""
    if not text:
        raise Refused(f"{field}: write the reason{purpose}")
    if len(text) > maximum:
        raise Refused(f"{field}: has {len(text)} characters; use {maximum} or fewer")
    return text
