"""Stable hashes of content, and keyed hashes of workers."""

import hashlib
import hmac
import json
from typing import Any


def canonical_json(value: Any) -> bytes:
    """Return ``value`` as UTF-8 JSON with sorted keys and no spaces: equal content gives equal bytes."""
    return json.dumps(value, sort_keys=True, separators=(",", ":"), ensure_ascii=False).encode()


def content_sha256(value: Any) -> str:
    """Return the sha256 of the canonical JSON of ``value``, 64 hex digits."""
    return hashlib.sha256(canonical_json(value)).hexdigest()


def keyed_worker_hash(secret: str, environment: str, worker_id: str) -> str:
    """Return the pseudonym of a worker outside the project, 32 hex digits.

    The project keeps the key secret, so that nobody can hash known worker ids and compare.
    """
    message = f"{environment}\0{worker_id}".encode()
    return hmac.new(secret.encode(), message, hashlib.sha256).hexdigest()[:32]


def request_token(*parts: object) -> str:
    """Return a UniqueRequestToken of 64 hex digits, the longest that MTurk's model allows."""
    return hashlib.sha256("|".join(str(part) for part in parts).encode()).hexdigest()


def instance_id(submission_id: str, index: int) -> str:
    """Return the 32-hex id of record ``index`` of a submission, in the format of the published corpus."""
    return hashlib.sha256(f"{submission_id}/{index}".encode()).hexdigest()[:32]
