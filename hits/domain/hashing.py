"""Stable fingerprints of content, and keyed hashes of people."""

import hashlib
import hmac
import json
from typing import Any


def canonical_json(value: Any) -> bytes:
    """Return ``value`` as JSON with sorted keys and no spaces, UTF-8: equal content, equal bytes."""
    return json.dumps(value, sort_keys=True, separators=(",", ":"), ensure_ascii=False).encode()


def content_sha256(value: Any) -> str:
    """Return the sha256 of the canonical JSON of ``value``, 64 hex digits."""
    return hashlib.sha256(canonical_json(value)).hexdigest()


def keyed_worker_hash(secret: str, environment: str, worker_id: str) -> str:
    """Return the only form in which a worker appears outside the project, 32 hex digits.

    The key is kept by the project, so that nobody can list worker ids and compare hashes.
    """
    message = f"{environment}\0{worker_id}".encode()
    return hmac.new(secret.encode(), message, hashlib.sha256).hexdigest()[:32]


def request_token(*parts: object) -> str:
    """Return a UniqueRequestToken of 64 hex digits, the longest that MTurk's model allows."""
    return hashlib.sha256("|".join(str(part) for part in parts).encode()).hexdigest()


def instance_id(submission_id: str, index: int) -> str:
    """Return the 32-hex id of observation ``index`` of a submission, as the published corpus has them."""
    return hashlib.sha256(f"{submission_id}/{index}".encode()).hexdigest()[:32]
