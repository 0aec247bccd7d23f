"""The configured marketplace, and the check that prevents accidental use of real money."""

import re
from urllib.parse import SplitResult, urlsplit

from django.conf import settings
from django.core.exceptions import ImproperlyConfigured

from hits.domain.money.fees import AMAZON_FEES, FeeSchedule, fee_schedule
from hits.mturk.port import Environment

REGION = "us-east-1"  # the only region with a documented endpoint; botocore builds URLs for others

_AWS_ENDPOINTS = {
    "aws-sandbox": "https://mturk-requester-sandbox.us-east-1.amazonaws.com",
    "aws-production": "https://mturk-requester.us-east-1.amazonaws.com",
}
# A label of the host name distinguishes Amazon's two services in every region and behind private endpoints.
_AWS_HOST_LABELS = {"mturk-requester-sandbox": "aws-sandbox", "mturk-requester": "aws-production"}
_AMAZON_DOMAINS = (".amazonaws.com", ".amazonaws.com.cn", ".api.aws")
_LOOPBACK_HOSTS = {"localhost", "127.0.0.1", "::1"}
# No user name, no escapes, and no host that two parsers could read differently.
_HOST = r"(?P<host>[a-z0-9_-]+(?:\.[a-z0-9_-]+)*\.*|\[[0-9a-f:.]+\])"
_NETLOC_PATTERN = re.compile(rf"{_HOST}(?::[0-9]{{1,5}})?", re.ASCII)


def current_environment() -> Environment:
    """Return the environment that ``MTURK_ENDPOINT`` names.

    Raises:
        ImproperlyConfigured: an unknown value, or production without ``MTURK_LIVE=1``.
    """
    return resolve_environment(settings.MTURK_ENDPOINT)


def resolve_environment(endpoint: str) -> Environment:
    """Return the environment of ``endpoint``: local, aws-sandbox, aws-production or a URL.

    A URL of Amazon's service gives the environment of that service.

    Raises:
        ImproperlyConfigured: an unknown value, or production without ``MTURK_LIVE=1``.
    """
    if endpoint == "local":
        url = f"{settings.PUBLIC_URL}/mturk/"
        return Environment("local", url, True, False, _configured_fees(), "Built-in marketplace")
    if endpoint in _AWS_ENDPOINTS:
        return _amazon_environment(endpoint, endpoint)
    parts = _split_endpoint(endpoint)
    host = _host_name(parts)
    if f".{host}".endswith(_AMAZON_DOMAINS):
        return _amazon_environment(_amazon_environment_name(endpoint, host), endpoint)
    is_plain = parts.scheme == "http" and host in _LOOPBACK_HOSTS
    if parts.scheme != "https" and not is_plain:
        raise _unknown_endpoint_error(endpoint)
    # Another MTurk-compatible service, or ours over HTTP, with our fee setting. The name includes the host, since a
    # batch stays on the marketplace of its launch.
    name = f"http:{parts.netloc.lower()}"[:40]
    return Environment(name, endpoint, False, not is_plain, _configured_fees(), endpoint)


def is_built_in(environment: Environment) -> bool:
    """Return whether an environment is the built-in marketplace: in process, on this host, or at ``PUBLIC_URL``."""
    if environment.in_process:
        return True
    parts, public = _split_endpoint(environment.endpoint_url), urlsplit(settings.PUBLIC_URL)
    same = (parts.scheme, _host_name(parts), parts.port) == (public.scheme, public.hostname, public.port)
    return same or (parts.scheme == "http" and _host_name(parts) in _LOOPBACK_HOSTS)


def _split_endpoint(endpoint: str) -> SplitResult:
    """Return the parts of a URL with an unambiguous host."""
    try:
        parts = urlsplit(endpoint)
        _ = parts.port  # raises for a port above 65535
    except ValueError as error:
        raise _unknown_endpoint_error(endpoint) from error
    is_clean = endpoint.isascii() and endpoint.isprintable() and " " not in endpoint
    if not is_clean or not _NETLOC_PATTERN.fullmatch(parts.netloc.lower()):
        raise _unknown_endpoint_error(endpoint)
    return parts


def _host_name(parts: SplitResult) -> str:
    found = _NETLOC_PATTERN.fullmatch(parts.netloc.lower())
    return found["host"].strip("[]").rstrip(".") if found else ""


def _amazon_environment_name(endpoint: str, host: str) -> str:
    """Return the name of Amazon's environment at ``host``."""
    for label in host.split("."):
        if label in _AWS_HOST_LABELS:
            return _AWS_HOST_LABELS[label]
    raise ImproperlyConfigured(
        f"MTURK_ENDPOINT={endpoint!r} is an Amazon address, but not of Mechanical Turk: use "
        "aws-sandbox or aws-production, or give your own service its own host name"
    )


def _amazon_environment(name: str, endpoint: str) -> Environment:
    live = name == "aws-production"
    if live and not settings.MTURK_LIVE:
        raise ImproperlyConfigured(f"MTURK_ENDPOINT={endpoint} spends real money: set MTURK_LIVE=1 too")
    return Environment(name, _AWS_ENDPOINTS[name], False, live, AMAZON_FEES, "Amazon Mechanical Turk")


def _unknown_endpoint_error(endpoint: str) -> ImproperlyConfigured:
    return ImproperlyConfigured(
        f"MTURK_ENDPOINT={endpoint!r}: use local, aws-sandbox, aws-production or an https:// address without a "
        "user name (http:// only on localhost)"
    )


def _configured_fees() -> FeeSchedule:
    """Return the fee schedule for launches on a marketplace that is not Amazon's.

    Raises:
        ImproperlyConfigured: ``MARKETPLACE_FEE_SCHEDULE`` is unknown or invalid.
    """
    try:
        return fee_schedule(settings.MARKETPLACE_FEE_SCHEDULE)
    except (LookupError, ValueError) as error:
        raise ImproperlyConfigured(f"MARKETPLACE_FEE_SCHEDULE: {error}") from error
