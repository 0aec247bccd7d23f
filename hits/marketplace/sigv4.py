"""Verify AWS Signature Version 4 by signing the request again with botocore.

The algorithm is Amazon's published one ("Create a signed AWS API request"). A signature's age is always
measured by the wall clock.
"""

import hmac
import re
from collections.abc import Callable, Iterator
from datetime import UTC, datetime, timedelta
from urllib.parse import parse_qsl

from botocore.auth import SIGV4_TIMESTAMP, SigV4Auth
from botocore.awsrequest import AWSRequest
from botocore.compat import HTTPHeaders
from botocore.credentials import Credentials

from .errors import ApiError
from .wire import ApiRequest

SERVICE = "mturk-requester"
MAX_SKEW = timedelta(minutes=15)
_REQUIRED_HEADERS = ("host", "x-amz-date")
_AUTHORIZATION_PATTERN = re.compile(
    r"AWS4-HMAC-SHA256\s+Credential=(?P<key>[\w.+=@-]{1,128})/(?P<day>\d{8})/(?P<region>[a-z0-9-]{1,64})/"
    r"(?P<service>[a-z0-9-]{1,64})/aws4_request\s*,\s*SignedHeaders=(?P<headers>[a-z0-9;_-]+)\s*,"
    r"\s*Signature=(?P<signature>[0-9a-f]{64})\s*",
    re.ASCII,
)


class _Signer(SigV4Auth):
    """Signs the headers that the request's context names: botocore alone would leave some out.

    The request itself has no headers, because botocore would trust an X-Amz-Content-SHA256 in place of the body.
    """

    def headers_to_sign(self, request: AWSRequest) -> HTTPHeaders:
        signed_headers: HTTPHeaders = request.context["signed_headers"]
        return signed_headers


def authenticate(request: ApiRequest, find_secret: Callable[[str], str | None], now: datetime) -> str:
    """Return the access key id of a correctly signed request; ``find_secret`` returns None for an unknown key.

    ``now`` is the wall clock, aware. Raises ApiError.
    """
    credential = _parse_authorization(request)
    secret = find_secret(credential["key"])
    if secret is None:
        raise _signature_error(
            "UnrecognizedClientException", "The security token included in the request is invalid."
        )
    timestamp = _read_valid_timestamp(request, credential["day"], now)
    signed_names = credential["headers"].split(";")
    missing = [name for name in _REQUIRED_HEADERS if name not in signed_names]
    if missing:
        raise _signature_error(
            "InvalidSignatureException", f"These headers must be signed: {', '.join(missing)}."
        )
    signer = _Signer(Credentials(credential["key"], secret), SERVICE, credential["region"])
    unsigned_request = AWSRequest(
        request.method,
        f"http://localhost{request.path}",
        data=request.body,
        params=parse_qsl(request.query, keep_blank_values=True),
    )
    for host in _host_variants(request.headers.get("host", "")):
        headers = {name: request.headers.get(name, "") for name in signed_names} | {"host": host}
        unsigned_request.context = {"timestamp": timestamp, "signed_headers": HTTPHeaders.from_dict(headers)}
        to_sign = signer.string_to_sign(unsigned_request, signer.canonical_request(unsigned_request))
        if hmac.compare_digest(signer.signature(to_sign, unsigned_request), credential["signature"]):
            return credential["key"]
    raise _signature_error(
        "InvalidSignatureException",
        "The request signature we calculated does not match the signature you provided. "
        "Check your secret access key and signing method.",
    )


def _parse_authorization(request: ApiRequest) -> re.Match[str]:
    """Return the parts of the Authorization header, not verified yet."""
    header = request.headers.get("authorization", "")
    if not header:
        raise _signature_error(
            "MissingAuthenticationTokenException", "The request has no Authorization header."
        )
    match = _AUTHORIZATION_PATTERN.fullmatch(header)
    if match is None:
        raise _signature_error(
            "IncompleteSignatureException", "The Authorization header is not of Signature Version 4."
        )
    if match["service"] != SERVICE:
        raise _signature_error(
            "InvalidSignatureException", f"Credential should be scoped to correct service: '{SERVICE}'."
        )
    return match


def _signature_error(error_type: str, message: str) -> ApiError:
    return ApiError("", message, error_type=error_type, has_timestamp=False)


def _read_valid_timestamp(request: ApiRequest, credential_day: str, now: datetime) -> str:
    timestamp = request.headers.get("x-amz-date", "")
    try:
        signed_at = datetime.strptime(timestamp, SIGV4_TIMESTAMP).replace(tzinfo=UTC)
    except ValueError:
        raise _signature_error(
            "IncompleteSignatureException", "X-Amz-Date must look like 20261120T164200Z."
        ) from None
    if abs(now - signed_at) > MAX_SKEW:
        problem = "expired" if signed_at < now else "not yet current"
        raise _signature_error(
            "InvalidSignatureException",
            f"Signature {problem}: {timestamp} differs from {now:{SIGV4_TIMESTAMP}} by more than 15 min.",
        )
    if not timestamp.startswith(credential_day):
        raise _signature_error(
            "InvalidSignatureException", "Date in Credential scope does not match X-Amz-Date."
        )
    return timestamp


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
