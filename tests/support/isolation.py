"""Keep the tests, and every process that they start, on this machine and off the caller's accounts.

Only the standard library is imported here: a child process reads this file before anything else, through
``child_site/sitecustomize.py``.
"""

import ipaddress
import os
import socket
import sys
from collections.abc import MutableMapping
from pathlib import Path
from typing import Any

CHILD_SITE = Path(__file__).resolve().parent / "child_site"
_CALLERS = ("AWS_", "MTURK_LIVE")
_PROXIES = {"http_proxy", "https_proxy", "all_proxy"}
_PINNED = {
    "MTURK_ENDPOINT": "local",
    # botocore would look into the caller's home folder, and ask a machine in the cloud for its role.
    "AWS_CONFIG_FILE": os.devnull,
    "AWS_SHARED_CREDENTIALS_FILE": os.devnull,
    "AWS_EC2_METADATA_DISABLED": "true",
}
_SENDING = {"socket.connect", "socket.sendto", "socket.sendmsg"}
_LOOKING_UP = {"socket.getaddrinfo", "socket.gethostbyname", "socket.gethostbyaddr"}


class OutsideError(BaseException):
    """Something tried to leave this machine.

    No ``Exception``: code that is written to survive a lost connection must not survive this.
    """


def pin(environment: MutableMapping[str, str]) -> None:
    """Take the caller's marketplace, keys and proxies out of an environment, and guard the children that get it."""
    for name in list(environment):
        if name.startswith(_CALLERS) or name.lower() in _PROXIES:
            del environment[name]
    environment.update(_PINNED)
    rest = [path for path in environment.get("PYTHONPATH", "").split(os.pathsep) if path]
    first = str(CHILD_SITE)
    environment["PYTHONPATH"] = os.pathsep.join([first, *(path for path in rest if path != first)])


def refuse_outside() -> None:
    """Let this process, and its forks, reach nobody but this machine, until it ends.

    Python reports these events for every socket, however it was made. A look-up is refused as well, since it asks a
    name server.
    """
    sys.addaudithook(_audit)


def _audit(event: str, arguments: tuple[Any, ...]) -> None:
    if event in _SENDING:
        connection, address = arguments[:2]
        internet = connection.family in {socket.AF_INET, socket.AF_INET6}
        if internet and isinstance(address, tuple) and not _is_here(address[0]):
            raise OutsideError(f"a test tried to reach {address[0]}")
    elif event in _LOOKING_UP:
        host = arguments[0]
        if host is not None and not _is_number(host) and not _is_here(host):
            raise OutsideError(f"a test tried to look up {host}")


def _is_here(host: object) -> bool:
    text = _text(host)
    if _is_number(text):
        return ipaddress.ip_address(text).is_loopback
    return text.lower() in {"", "localhost", socket.gethostname().lower()}


def _is_number(host: object) -> bool:
    try:
        ipaddress.ip_address(_text(host))
    except ValueError:
        return False
    return True


def _text(host: object) -> str:
    text = host.decode("ascii", "replace") if isinstance(host, bytes | bytearray) else str(host)
    return text.partition("%")[0]  # without an IPv6 address's zone
