"""Signing in under attack: brakes that stop guessing, and lock nobody else out."""

import re
from collections.abc import Callable
from typing import Any

import pytest
from django.contrib.auth.models import User
from django.core.cache import cache
from django.test import Client, RequestFactory
from django.urls import reverse
from django.utils import timezone

from annotation_site import sign_in
from annotation_site.sign_in import client_address

pytestmark = pytest.mark.django_db
PASSWORD = "a long pass phrase"


@pytest.fixture
def ann() -> User:
    return User.objects.create_user("ann", password=PASSWORD)


@pytest.fixture
def attempt() -> Callable[..., Any]:
    """Send a name and a password from an address; each in a browser of its own."""

    def send(name: str, password: str, address: str, **more: str) -> Any:
        data = {"username": name, "password": password} | more
        return Client().post(reverse("login"), data, REMOTE_ADDR=address)

    return send


def test_name_and_address_are_locked_after_eight_wrong_passwords(ann: User, attempt: Any) -> None:
    for _ in range(8):
        attempt("ann", "wrong", "10.0.0.1")
    assert attempt("ann", PASSWORD, "10.0.0.1").status_code == 429


def test_account_is_never_locked_from_other_addresses(ann: User, attempt: Any) -> None:
    for n in range(24):
        attempt("ann", "wrong", f"10.0.1.{n}")
    page = attempt("ann", PASSWORD, "10.0.0.9")
    assert page.status_code == 429
    assert page["Retry-After"] == "5", "what was not announced was not even looked at, and counts for nothing"
    assert "The account is not locked" in page.content.decode()
    ticket = re.search(r'name="ticket" value="([^"]+)"', page.content.decode())[1]  # type: ignore[index]
    assert attempt("ann", PASSWORD, "10.0.0.9", ticket=ticket).status_code == 429, "not waited yet"
    for n in range(24, 40):  # the attack goes on meanwhile, and cannot push the wait on
        attempt("ann", "wrong", f"10.0.1.{n}")
    sign_in._ticket_age_seconds, real = (
        (lambda ticket, name: 61.0 if real(ticket, name) is not None else None),
        sign_in._ticket_age_seconds,
    )
    try:
        assert attempt("ann", PASSWORD, "10.0.0.9", ticket=ticket).status_code == 302
        assert attempt("ann", PASSWORD, "10.0.0.9", ticket=ticket[:-1]).status_code == 429
        assert attempt("bob", PASSWORD, "10.0.0.9", ticket=ticket).status_code == 200, "bob has no such brake"
    finally:
        sign_in._ticket_age_seconds = real


def test_ticket_age_is_time_since_signing(ann: User, time_machine: Any) -> None:
    time_machine.move_to(timezone.now())
    ticket = sign_in._TICKET_SIGNER.sign("ann")
    time_machine.shift(7)
    assert 6.5 <= sign_in._ticket_age_seconds(ticket, "ann") <= 8  # type: ignore[operator]
    assert sign_in._ticket_age_seconds(ticket, "bob") is None
    time_machine.shift(1000)
    assert sign_in._ticket_age_seconds(ticket, "ann") is None


def test_address_is_locked_after_thirty_wrong_passwords(ann: User, attempt: Any) -> None:
    for n in range(30):
        attempt(f"name{n}", "wrong", "10.0.0.2")
    assert attempt("ann", PASSWORD, "10.0.0.2").status_code == 429
    assert attempt("ann", PASSWORD, "10.0.0.3").status_code == 302


def test_wrong_passwords_are_counted_without_the_cache(ann: User, attempt: Any) -> None:
    for _ in range(8):
        attempt("ann", "wrong", "10.0.0.1")
        cache.clear()
    assert attempt("ann", PASSWORD, "10.0.0.1").status_code == 429


@pytest.mark.parametrize(
    ("proxies", "forwarded", "found"),
    [
        (0, "6.6.6.6", "10.0.0.1"),
        (1, "203.0.113.7", "203.0.113.7"),
        (1, "6.6.6.6, 203.0.113.7", "203.0.113.7"),
        (1, "", "10.0.0.1"),
    ],
)
def test_client_address_is_that_of_the_nearest_proxy(
    settings: Any, proxies: int, forwarded: str, found: str
) -> None:
    settings.REST_FRAMEWORK = settings.REST_FRAMEWORK | {"NUM_PROXIES": proxies}
    request = RequestFactory().get("/", REMOTE_ADDR="10.0.0.1", HTTP_X_FORWARDED_FOR=forwarded)
    assert client_address(request) == found


def test_wrong_passwords_behind_a_proxy_lock_the_client(ann: User, settings: Any) -> None:
    settings.REST_FRAMEWORK = settings.REST_FRAMEWORK | {"NUM_PROXIES": 1}
    for n in range(8):
        Client().post(
            reverse("login"),
            {"username": f"name{n % 2}", "password": "wrong"},
            REMOTE_ADDR="10.0.0.1",
            HTTP_X_FORWARDED_FOR=f"198.51.100.{n}",
        )
    reply = Client().post(
        reverse("login"),
        {"username": "ann", "password": PASSWORD},
        REMOTE_ADDR="10.0.0.1",
        HTTP_X_FORWARDED_FOR="203.0.113.7",
    )
    assert reply.status_code == 302
