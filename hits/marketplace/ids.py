"""Random public identifiers. HIT and assignment ids look like Amazon's: 30 capitals and digits."""

import secrets
import string

_ALPHABET = string.ascii_uppercase + string.digits
_ENTITY_ID_LENGTH = 30
_WORKER_ID_LENGTH = 14


def new_entity_id() -> str:
    """Return an id for a HIT, HIT type or assignment: ``3`` and 29 random characters (about 150 bits)."""
    return "3" + _random_text(_ENTITY_ID_LENGTH - 1)


def new_worker_id() -> str:
    """Return a worker's pseudonym: ``A`` and 13 random characters, not derived from any data."""
    return "A" + _random_text(_WORKER_ID_LENGTH - 1)


def _random_text(length: int) -> str:
    return "".join(secrets.choice(_ALPHABET) for _ in range(length))
