"""AWS Signature Version 4, verified by computing it again.

The algorithm is Amazon's published one ("Create a signed AWS API request"); the clock that judges a
signature's age is always the wall clock.
"""

from __future__ import annotations

import hashlib
import hmac
import re
from collections.abc import Callable, Iterator
from dataclasses import dataclass
from datetime import UTC, datetime, timedelta
from urllib.parse import parse_qsl, quote

from .errors import ApiError
from .wire import ApiRequest

SERVICE = "mturk-requester"
ALGORITHM = "AWS4-HMAC-SHA256"
MAX_SKEW = timedelta(minutes=15)
_DATE_FORMAT = "%Y%m%dT%H%M%SZ"
_MUST_BE_SIGNED = ("host", "x-amz-date")
_PARTS = re.compile(
    r"AWS4-HMAC-SHA256\s+Credential=(?P<key>[\w.+=@-]{1,128})/(?P<day>\d{8})/(?P<region>[a-z0-9-]{1,64})/"
    r"(?P<service>[a-z0-9-]{1,64})/aws4_request\s*,\s*SignedHeaders=(?P<headers>[a-z0-9;_-]+)\s*,"
    r"\s*Signature=(?P<signature>[0-9a-f]{64})\s*",
    re.ASCII,
)


@dataclass(frozen=True)
class Credential:
    """What an Authorization header claims."""

    access_key_id: str
    day: str
    region: str
    service: str
    signed_headers: tuple[str, ...]
    signature: str

    @property
    def scope(self) -> str:
        """The credential scope, e.g. ``20261120/us-east-1/mturk-requester/aws4_request``."""
        return f"{self.day}/{self.region}/{self.service}/aws4_request"


def parse_authorization(request: ApiRequest) -> Credential:
    """Read the Authorization header. Raises ApiError for a missing or malformed one, or a foreign scope."""
    header = request.headers.get("authorization", "")
    if not header:
        raise _refusal("MissingAuthenticationTokenException", "The request carries no Authorization header.")
    found = _PARTS.fullmatch(header)
    if found is None:
        raise _refusal(
            "IncompleteSignatureException", "The Authorization header is not of Signature Version 4."
        )
    if found["service"] != SERVICE:
        raise _refusal(
            "InvalidSignatureException", f"Credential should be scoped to correct service: '{SERVICE}'."
        )
    return Credential(
        access_key_id=found["key"],
        day=found["day"],
        region=found["region"],
        service=found["service"],
        signed_headers=tuple(found["headers"].split(";")),
        signature=found["signature"],
    )


def verify(request: ApiRequest, credential: Credential, secret: str, now: datetime) -> None:
    """Check age and signature. Raises ApiError; ``now`` is the wall clock, aware."""
    stamp = _check_age(request, credential, now)
    missing = [name for name in _MUST_BE_SIGNED if name not in credential.signed_headers]
    if missing:
        raise _refusal("InvalidSignatureException", f"These headers must be signed: {', '.join(missing)}.")
    key = _signing_key(secret, credential)
    for host in _hosts(request.headers.get("host", "")):
        canonical = _canonical_request(request, credential, host)
        to_sign = "\n".join(
            [ALGORITHM, stamp, credential.scope, hashlib.sha256(canonical.encode()).hexdigest()]
        )
        expected = hmac.new(key, to_sign.encode(), hashlib.sha256).hexdigest()
        if hmac.compare_digest(expected, credential.signature):
            return
    raise _refusal(
        "InvalidSignatureException",
        "The request signature we calculated does not match the signature you provided. "
        "Check your secret access key and signing method.",
    )


def authenticate(request: ApiRequest, secret_of: Callable[[str], str | None], now: datetime) -> str:
    """Return the access key id of a properly signed request; ``secret_of`` gives None for an unknown key."""
    credential = parse_authorization(request)
    secret = secret_of(credential.access_key_id)
    if secret is None:
        raise _refusal(
            "UnrecognizedClientException", "The security token included in the request is invalid."
        )
    verify(request, credential, secret, now)
    return credential.access_key_id


def _refusal(kind: str, message: str) -> ApiError:
    return ApiError("", message, kind=kind, stamp=False)


def _check_age(request: ApiRequest, credential: Credential, now: datetime) -> str:
    stamp = request.headers.get("x-amz-date", "")
    try:
        signed_at = datetime.strptime(stamp, _DATE_FORMAT).replace(tzinfo=UTC)
    except ValueError:
        raise _refusal(
            "IncompleteSignatureException", "X-Amz-Date must look like 20261120T164200Z."
        ) from None
    if abs(now - signed_at) > MAX_SKEW:
        late = "expired" if signed_at < now else "not yet current"
        raise _refusal(
            "InvalidSignatureException",
            f"Signature {late}: {stamp} differs from {now:{_DATE_FORMAT}} by more than 15 min.",
        )
    if not stamp.startswith(credential.day):
        raise _refusal("InvalidSignatureException", "Date in Credential scope does not match X-Amz-Date.")
    return stamp


def _signing_key(secret: str, credential: Credential) -> bytes:
    key = f"AWS4{secret}".encode()
    for part in (credential.day, credential.region, credential.service, "aws4_request"):
        key = hmac.new(key, part.encode(), hashlib.sha256).digest()
    return key


def _hosts(host: str) -> Iterator[str]:
    """Give the Host header as sent, and with a default port taken off or put on.

    Clients sign the host without a default port, whether or not they then send one; a proxy may add or
    drop it. A port other than 80 and 443 is always part of the signature.
    """
    yield host
    name, mark, port = host.rpartition(":")
    if mark and port in {"80", "443"}:
        yield name
    elif not mark or host.endswith("]"):
        yield f"{host}:80"
        yield f"{host}:443"


def _canonical_request(request: ApiRequest, credential: Credential, host: str) -> str:
    values = {**request.headers, "host": host}
    headers = "".join(
        f"{name}:{' '.join(values.get(name, '').split())}\n" for name in credential.signed_headers
    )
    return "\n".join(
        [
            request.method,
            quote(request.path, safe="/-_.~") or "/",
            _canonical_query(request.query),
            headers,
            ";".join(credential.signed_headers),
            hashlib.sha256(request.body).hexdigest(),
        ]
    )


def _canonical_query(query: str) -> str:
    pairs = parse_qsl(query, keep_blank_values=True)
    return "&".join(
        f"{name}={value}"
        for name, value in sorted(
            (quote(name, safe="-_.~"), quote(value, safe="-_.~")) for name, value in pairs
        )
    )
