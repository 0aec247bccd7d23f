"""Verify AWS Signature Version 4 by recomputing it.

The algorithm is Amazon's published one ("Create a signed AWS API request"). A signature's age is always
measured by the wall clock.
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
_REQUIRED_HEADERS = ("host", "x-amz-date")
_AUTHORIZATION = re.compile(
    r"AWS4-HMAC-SHA256\s+Credential=(?P<key>[\w.+=@-]{1,128})/(?P<day>\d{8})/(?P<region>[a-z0-9-]{1,64})/"
    r"(?P<service>[a-z0-9-]{1,64})/aws4_request\s*,\s*SignedHeaders=(?P<headers>[a-z0-9;_-]+)\s*,"
    r"\s*Signature=(?P<signature>[0-9a-f]{64})\s*",
    re.ASCII,
)


@dataclass(frozen=True)
class Credential:
    """The content of an Authorization header, not verified yet."""

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
    """Parse the Authorization header. Raises ApiError for a missing or malformed header or another service."""
    header = request.headers.get("authorization", "")
    if not header:
        raise _signature_error(
            "MissingAuthenticationTokenException", "The request carries no Authorization header."
        )
    match = _AUTHORIZATION.fullmatch(header)
    if match is None:
        raise _signature_error(
            "IncompleteSignatureException", "The Authorization header is not of Signature Version 4."
        )
    if match["service"] != SERVICE:
        raise _signature_error(
            "InvalidSignatureException", f"Credential should be scoped to correct service: '{SERVICE}'."
        )
    return Credential(
        access_key_id=match["key"],
        day=match["day"],
        region=match["region"],
        service=match["service"],
        signed_headers=tuple(match["headers"].split(";")),
        signature=match["signature"],
    )


def verify_signature(request: ApiRequest, credential: Credential, secret: str, now: datetime) -> None:
    """Check age and signature. Raises ApiError; ``now`` is the wall clock, aware."""
    timestamp = _check_age(request, credential, now)
    missing = [name for name in _REQUIRED_HEADERS if name not in credential.signed_headers]
    if missing:
        raise _signature_error(
            "InvalidSignatureException", f"These headers must be signed: {', '.join(missing)}."
        )
    key = _signing_key(secret, credential)
    for host in _host_variants(request.headers.get("host", "")):
        canonical = _canonical_request(request, credential, host)
        to_sign = "\n".join(
            [ALGORITHM, timestamp, credential.scope, hashlib.sha256(canonical.encode()).hexdigest()]
        )
        expected = hmac.new(key, to_sign.encode(), hashlib.sha256).hexdigest()
        if hmac.compare_digest(expected, credential.signature):
            return
    raise _signature_error(
        "InvalidSignatureException",
        "The request signature we calculated does not match the signature you provided. "
        "Check your secret access key and signing method.",
    )


def authenticate(request: ApiRequest, find_secret: Callable[[str], str | None], now: datetime) -> str:
    """Return the access key id of a correctly signed request; ``find_secret`` returns None for an unknown key."""
    credential = parse_authorization(request)
    secret = find_secret(credential.access_key_id)
    if secret is None:
        raise _signature_error(
            "UnrecognizedClientException", "The security token included in the request is invalid."
        )
    verify_signature(request, credential, secret, now)
    return credential.access_key_id


def _signature_error(kind: str, message: str) -> ApiError:
    return ApiError("", message, kind=kind, has_timestamp=False)


def _check_age(request: ApiRequest, credential: Credential, now: datetime) -> str:
    timestamp = request.headers.get("x-amz-date", "")
    try:
        signed_at = datetime.strptime(timestamp, _DATE_FORMAT).replace(tzinfo=UTC)
    except ValueError:
        raise _signature_error(
            "IncompleteSignatureException", "X-Amz-Date must look like 20261120T164200Z."
        ) from None
    if abs(now - signed_at) > MAX_SKEW:
        problem = "expired" if signed_at < now else "not yet current"
        raise _signature_error(
            "InvalidSignatureException",
            f"Signature {problem}: {timestamp} differs from {now:{_DATE_FORMAT}} by more than 15 min.",
        )
    if not timestamp.startswith(credential.day):
        raise _signature_error(
            "InvalidSignatureException", "Date in Credential scope does not match X-Amz-Date."
        )
    return timestamp


def _signing_key(secret: str, credential: Credential) -> bytes:
    key = f"AWS4{secret}".encode()
    for part in (credential.day, credential.region, credential.service, "aws4_request"):
        key = hmac.new(key, part.encode(), hashlib.sha256).digest()
    return key


def _host_variants(host: str) -> Iterator[str]:
    """Yield the Host header as sent, then with the default port removed or added.

    Clients sign the host without a default port, whether or not they send one. A proxy may add or drop it. Any
    port other than 80 and 443 is always part of the signature.
    """
    yield host
    name, colon, port = host.rpartition(":")
    if colon and port in {"80", "443"}:
        yield name
    elif not colon or host.endswith("]"):
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
