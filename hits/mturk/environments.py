"""Which marketplace is meant, and the guard before the one that costs real money."""

import re
from urllib.parse import SplitResult, urlsplit

from django.conf import settings
from django.core.exceptions import ImproperlyConfigured

from hits.domain.money.fees import AMAZON_FEES, FeeSchedule, fee_schedule
from hits.mturk.port import Environment

REGION = "us-east-1"  # the only region with a documented endpoint; botocore would invent others

_AWS = {
    "aws-sandbox": "https://mturk-requester-sandbox.us-east-1.amazonaws.com",
    "aws-production": "https://mturk-requester.us-east-1.amazonaws.com",
}
# A label of the host name tells Amazon's two apart in every region, and behind a private address of theirs.
_SERVICES = {"mturk-requester-sandbox": "aws-sandbox", "mturk-requester": "aws-production"}
_AMAZON = (".amazonaws.com", ".amazonaws.com.cn", ".api.aws")
_LOOPBACK = {"localhost", "127.0.0.1", "::1"}
# No user name, nothing escaped, nothing that two parsers could read as two hosts.
_HOST = r"(?P<host>[a-z0-9_-]+(?:\.[a-z0-9_-]+)*\.*|\[[0-9a-f:.]+\])"
_NETLOC = re.compile(rf"{_HOST}(?::[0-9]{{1,5}})?", re.ASCII)


def current() -> Environment:
    """Return the environment that ``MTURK_ENDPOINT`` names.

    Raises:
        ImproperlyConfigured: the word is unknown, or production is asked for without ``MTURK_LIVE=1``.
    """
    return resolve(settings.MTURK_ENDPOINT)


def resolve(word: str) -> Environment:
    """Return the environment called ``word``: local, aws-sandbox, aws-production or a URL.

    An address of Amazon's is the environment of that name, however it is spelled.

    Raises:
        ImproperlyConfigured: the word is unknown, or production is asked for without ``MTURK_LIVE=1``.
    """
    if word == "local":
        url = f"{settings.PUBLIC_URL}/mturk/"
        return Environment("local", url, True, False, fees_of("local"), "Built-in marketplace")
    if word in _AWS:
        return _amazon(word, word)
    parts = _parts(word)
    host = _host(parts)
    if f".{host}".endswith(_AMAZON):
        return _amazon(_service(word, host), word)
    is_plain = parts.scheme == "http" and host in _LOOPBACK
    if parts.scheme != "https" and not is_plain:
        raise _unknown(word)
    # Somebody's own MTurk-compatible service, or ours over HTTP: fees as ours are set. The name tells
    # which, since a batch stays on the marketplace that it was launched on.
    name = f"http:{parts.netloc.lower()}"[:40]
    return Environment(name, word, False, not is_plain, fees_of(name), word)


def is_own(environment: Environment) -> bool:
    """Tell whether an environment is the built-in marketplace: in process, on this machine, or at ``PUBLIC_URL``."""
    if environment.in_process:
        return True
    parts, public = _parts(environment.endpoint_url), urlsplit(settings.PUBLIC_URL)
    same = (parts.scheme, _host(parts), parts.port) == (public.scheme, public.hostname, public.port)
    return same or (parts.scheme == "http" and _host(parts) in _LOOPBACK)


def _parts(word: str) -> SplitResult:
    """Return the parts of an address whose host is beyond doubt."""
    try:
        parts = urlsplit(word)
        _ = parts.port  # raises for one above 65535
    except ValueError as error:
        raise _unknown(word) from error
    is_clean = word.isascii() and word.isprintable() and " " not in word
    if not is_clean or not _NETLOC.fullmatch(parts.netloc.lower()):
        raise _unknown(word)
    return parts


def _host(parts: SplitResult) -> str:
    found = _NETLOC.fullmatch(parts.netloc.lower())
    return found["host"].strip("[]").rstrip(".") if found else ""


def _service(word: str, host: str) -> str:
    """Return the name of Amazon's environment at ``host``."""
    for label in host.split("."):
        if label in _SERVICES:
            return _SERVICES[label]
    raise ImproperlyConfigured(
        f"MTURK_ENDPOINT={word!r} is an address of Amazon's, and none of today's Mechanical Turk: use aws-sandbox or "
        "aws-production, or give a service of your own a host name of its own"
    )


def _amazon(name: str, word: str) -> Environment:
    live = name == "aws-production"
    if live and not settings.MTURK_LIVE:
        raise ImproperlyConfigured(f"MTURK_ENDPOINT={word} spends real money: set MTURK_LIVE=1 too")
    return Environment(name, _AWS[name], False, live, AMAZON_FEES, "Amazon Mechanical Turk")


def _unknown(word: str) -> ImproperlyConfigured:
    return ImproperlyConfigured(
        f"MTURK_ENDPOINT={word!r}: use local, aws-sandbox, aws-production or an https:// address without a user name "
        "(http:// on localhost alone)"
    )


def fees_of(name: str) -> FeeSchedule:
    """Return the fee schedule of a launch on the environment that rows call ``name``.

    Raises:
        ImproperlyConfigured: ``MARKETPLACE_FEE_SCHEDULE`` names none, or spells out a bad one.
    """
    if name.startswith("aws-"):
        return AMAZON_FEES
    try:
        return fee_schedule(settings.MARKETPLACE_FEE_SCHEDULE)
    except (LookupError, ValueError) as error:
        raise ImproperlyConfigured(f"MARKETPLACE_FEE_SCHEDULE: {error}") from error
