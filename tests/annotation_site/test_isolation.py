"""No test leaves this machine or meets the caller's accounts: the guard bites, here and in a child process."""

import os
import socket
import subprocess
import sys
from collections.abc import Callable

import pytest
from django.conf import settings

from tests.support import children, isolation

OUTSIDE = "203.0.113.7"  # documentation's own: nobody is there
OUTSIDE_6 = "2001:db8::7"


def _udp(family: int = socket.AF_INET) -> socket.socket:
    return socket.socket(family, socket.SOCK_DGRAM)


WAYS: dict[str, Callable[[], object]] = {
    "connect": lambda: socket.create_connection((OUTSIDE, 443), timeout=1),
    "connect without an exception": lambda: _udp().connect_ex((OUTSIDE, 53)),
    "IPv6": lambda: _udp(socket.AF_INET6).connect((OUTSIDE_6, 53)),
    "send a datagram": lambda: _udp().sendto(b"x", (OUTSIDE, 53)),
    "send a message": lambda: _udp().sendmsg([b"x"], [], 0, (OUTSIDE, 53)),
    "everywhere": lambda: _udp().connect(("0.0.0.0", 53)),
    "look up": lambda: socket.getaddrinfo("example.org", 443),
    "look up bytes": lambda: socket.getaddrinfo(b"example.org", 443),
    "look up the old way": lambda: socket.gethostbyname("localhost.example.org"),
    "look up with aliases": lambda: socket.gethostbyname_ex("127.0.0.1.example.org"),
}


@pytest.mark.parametrize("way", WAYS.values(), ids=WAYS.keys())
def test_no_network_call_leaves_the_machine(way: Callable[[], object]) -> None:
    with pytest.raises(BaseException, match="a test tried to"):
        way()


def test_guard_stops_code_that_catches_every_exception() -> None:
    def survive() -> None:
        try:
            WAYS["connect"]()
        except Exception:
            return

    with pytest.raises(BaseException, match=f"a test tried to reach {OUTSIDE}"):
        survive()


def test_local_connections_work() -> None:
    with socket.create_server(("127.0.0.1", 0)) as listening:
        port = listening.getsockname()[1]
        socket.create_connection(("localhost", port), timeout=5).close()
        socket.create_connection(("127.0.0.1", port), timeout=5).close()
    assert _udp().sendto(b"x", ("127.0.0.1", port)) == 1


_TRY = f"""
import os, socket
tried = socket.socket(socket.AF_INET, socket.SOCK_DGRAM)
try:
    print("reached", tried.connect_ex(("{OUTSIDE}", 53)))
except BaseException as error:
    print(error)
"""


@pytest.mark.parametrize("given", [None, "children"], ids=["any child", "a child of tests.support"])
@pytest.mark.django_db
def test_guard_works_in_a_child_process(given: str | None) -> None:
    environment = children.child_environment() if given else None
    done = subprocess.run(
        [sys.executable, "-c", _TRY], env=environment, capture_output=True, text=True, check=True
    )
    assert done.stdout.strip() == f"a test tried to reach {OUTSIDE}"
    assert done.stderr == ""


def test_the_callers_marketplace_keys_and_proxies_are_dropped() -> None:
    given = {
        "MTURK_ENDPOINT": "aws-production",
        "MTURK_LIVE": "1",
        "AWS_ACCESS_KEY_ID": "AKIA",
        "AWS_PROFILE": "work",
        "AWS_CONFIG_FILE": "config",
        "HTTPS_PROXY": "http://proxy.example.org",
        "http_proxy": "http://proxy.example.org",
        "PYTHONPATH": "elsewhere",
        "LANG": "C",
    }
    isolation.pin(given)
    isolation.pin(given)  # a child's child
    assert given == {
        "MTURK_ENDPOINT": "local",
        "AWS_CONFIG_FILE": os.devnull,
        "AWS_SHARED_CREDENTIALS_FILE": os.devnull,
        "AWS_EC2_METADATA_DISABLED": "true",
        "PYTHONPATH": os.pathsep.join([str(isolation.CHILD_SITE), "elsewhere"]),
        "LANG": "C",
    }


def test_the_tests_stay_on_the_built_in_marketplace() -> None:
    assert (settings.MTURK_ENDPOINT, settings.MTURK_LIVE) == ("local", False)
    assert (os.environ["MTURK_ENDPOINT"], os.environ.get("MTURK_LIVE")) == ("local", None)


@pytest.mark.long
def test_marketplace_is_local_for_any_caller_settings() -> None:
    theirs = {"MTURK_ENDPOINT": "aws-production", "MTURK_LIVE": "1"}
    node = "tests/annotation_site/test_isolation.py::test_the_tests_stay_on_the_built_in_marketplace"
    mine = {key: value for key, value in os.environ.items() if not key.startswith("DEERSTALKER_TEST")}
    done = subprocess.run(
        [sys.executable, "-m", "pytest", "-q", "-p", "no:cacheprovider", node],
        cwd=children.ROOT,
        env=mine | theirs,
        capture_output=True,
        text=True,
        check=False,
    )
    assert done.returncode == 0, done.stdout[-3000:]
    assert "1 passed" in done.stdout


@pytest.mark.django_db
def test_marketplace_of_a_child_is_local_for_any_test_settings(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setenv("MTURK_LIVE", "1")
    monkeypatch.setenv("MTURK_ENDPOINT", "aws-production")
    environment = children.child_environment()
    assert environment["MTURK_ENDPOINT"] == "local"
    assert "MTURK_LIVE" not in environment
