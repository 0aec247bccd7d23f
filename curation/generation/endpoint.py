"""The address and key of an OpenAI-compatible server, from the environment alone."""

import os
from collections.abc import Mapping
from dataclasses import dataclass, field
from urllib.parse import urlsplit

from curation.generation.errors import ModelUnavailable
from curation.generation.keys import read_key

CHAT, IMAGES = "CHAT", "IMAGES"
_TIMEOUTS = {CHAT: 120.0, IMAGES: 300.0}  # seconds
_MAX_TIMEOUT = 3600.0
_PORTS = {"http": 80, "https": 443}
Origin = tuple[str, str, int]


@dataclass(frozen=True, slots=True)
class Endpoint:
    """Where requests go. purpose: CHAT or IMAGES. timeout: seconds of a whole call."""

    purpose: str
    url: str
    key: str = field(repr=False)
    timeout: float

    @property
    def origin(self) -> Origin:
        """Scheme, host and port."""
        return origin_of(self.url)

    @property
    def label(self) -> str:
        """Its name in messages: the purpose and the host."""
        return f"{self.purpose.lower()} server {urlsplit(self.url).hostname}"


def read_endpoint(purpose: str, environment: Mapping[str, str] = os.environ) -> Endpoint:
    """Return the endpoint of ``<purpose>_API_URL``, with ``<purpose>_API_KEY`` (or ``…_FILE``) if there is one.

    A server in one's own network may need no key. ``<purpose>_API_TIMEOUT`` are seconds.

    Raises:
        ModelUnavailable: the address is missing or unusable.
        InvalidInput: the key or the timeout is unusable.
    """
    variable = f"{purpose}_API_URL"
    url = environment.get(variable, "").strip().rstrip("/")
    if not url:
        raise ModelUnavailable(
            f"{variable} is not set; give the server's address, such as https://api.openai.com/v1, and its key in "
            f"{purpose}_API_KEY"
        )
    try:
        parts = urlsplit(url)
        usable = parts.scheme in _PORTS and bool(parts.hostname) and parts.port != 0
    except ValueError:
        usable = False
    if not usable:
        raise ModelUnavailable(f"{variable}: is no http or https address; give one such as https://host/v1")
    if parts.username or parts.password or parts.query or parts.fragment:
        # The address itself may hold a secret, so the message does not repeat it.
        raise ModelUnavailable(
            f"{variable}: has a user, a query or a fragment; give the plain address, and the key in {purpose}_API_KEY"
        )
    return Endpoint(purpose, url, read_key(f"{purpose}_API_KEY", environment), _timeout(purpose, environment))


def origin_of(url: str) -> Origin:
    """Return scheme, host and port of an address.

    Raises:
        ValueError: it is no http or https address.
    """
    parts = urlsplit(url)
    if parts.scheme not in _PORTS or not parts.hostname:
        raise ValueError("no http or https address")
    return parts.scheme, parts.hostname, parts.port or _PORTS[parts.scheme]


def _timeout(purpose: str, environment: Mapping[str, str]) -> float:
    variable = f"{purpose}_API_TIMEOUT"
    text = environment.get(variable, "").strip()
    if not text:
        return _TIMEOUTS[purpose]
    try:
        seconds = float(text)
    except ValueError:
        seconds = -1.0
    if 0 < seconds <= _MAX_TIMEOUT:
        return seconds
    raise ModelUnavailable(f"{variable}={text[:20]!r}: use seconds over 0, up to {_MAX_TIMEOUT:.0f}")
