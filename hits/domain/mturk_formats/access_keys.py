"""Key pairs of requesters: the id is stored, the secret never is."""

import hashlib
import hmac
import secrets

_ALPHABET = "ABCDEFGHIJKLMNOPQRSTUVWXYZ234567"
_PREFIX = "DSAK"
_RANDOM_CHARS = 16


def new_access_key_id() -> str:
    """Return a new access key id: ``DSAK`` and 16 random capitals or digits (80 bits)."""
    return _PREFIX + "".join(secrets.choice(_ALPHABET) for _ in range(_RANDOM_CHARS))


def derive_secret(keys_secret: str, access_key_id: str) -> str:
    """Return the secret of a key pair: HMAC-SHA256(keys_secret, access_key_id) as 64 hex digits.

    Nothing is stored, so a copy of the database reveals no requester's secret. Raises ValueError when either part is
    empty, since an empty server secret would make every key guessable.
    """
    if not keys_secret or not access_key_id:
        raise ValueError("The server's key secret and the access key id are both required.")
    return hmac.new(keys_secret.encode(), access_key_id.encode(), hashlib.sha256).hexdigest()
