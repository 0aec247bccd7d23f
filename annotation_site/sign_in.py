"""Slow down password guessing without locking anybody out.

Three limits, all counted in the database, so that an outage of the cache does not lift them:

- eight wrong passwords for one name from one address lock that pair for a quarter of an hour (django-axes);
- thirty wrong passwords from one address, for any names, lock that address for the same time;
- eight wrong passwords for one name from several addresses delay each further attempt by some seconds, more each
  time. A signed ticket in the form holds the time when the attempt was announced, so no thread waits meanwhile.
"""

from datetime import timedelta
from typing import Any

from axes.handlers.database import AxesDatabaseHandler
from axes.models import AccessAttempt
from django.conf import settings
from django.contrib.auth import views as auth
from django.core import signing
from django.db.models import Sum
from django.http import HttpRequest, HttpResponse
from django.utils import timezone

FAILURE_WINDOW = timedelta(minutes=15)
FIRST_DELAY_SECONDS, MAX_DELAY_SECONDS = 5, 60
TICKET_SECONDS = 900
_TICKET_SIGNER = signing.TimestampSigner(salt="sign-in.ticket")


def client_address(request: HttpRequest) -> str:
    """Return the address that limits count: the one that the nearest proxy saw, or that of the connection.

    Only the last entry of X-Forwarded-For is the proxy's; the client writes the entries before it.
    """
    if settings.REST_FRAMEWORK["NUM_PROXIES"]:
        forwarded = str(request.META.get("HTTP_X_FORWARDED_FOR", "")).split(",")
        if forwarded[-1].strip():
            return forwarded[-1].strip()
    return str(request.META.get("REMOTE_ADDR", ""))


class SignInHandler(AxesDatabaseHandler):
    """The handler of django-axes, with a second, wider limit per address."""

    def is_locked(self, request: HttpRequest, credentials: dict[str, Any] | None = None) -> bool:
        """Return whether this name from this address, or the whole address, is locked."""
        if super().is_locked(request, credentials):
            return True
        failures = _count_recent_failures(ip_address=client_address(request))
        return failures >= settings.SIGN_IN_FAILURES_PER_ADDRESS

    def user_login_failed(
        self, sender: Any, credentials: dict[str, Any], request: HttpRequest | None = None, **kwargs: Any
    ) -> None:
        """Count the failure, and show the locked page if the limit is reached."""
        super().user_login_failed(sender, credentials, request, **kwargs)
        if request is not None and self.is_locked(request, credentials):
            setattr(request, "axes_locked_out", True)  # noqa: B010 - axes' middleware reads it


def _count_recent_failures(**filters: str) -> int:
    """Count the wrong passwords of the last quarter of an hour."""
    recent = AccessAttempt.objects.filter(attempt_time__gte=timezone.now() - FAILURE_WINDOW, **filters)
    return int(recent.aggregate(n=Sum("failures_since_start"))["n"] or 0)


def sign_in_delay_seconds(username: str) -> int:
    """Return how many seconds before its attempt a sign-in for this name must be announced: 0 without failures."""
    rounds = _count_recent_failures(username=username) // settings.AXES_FAILURE_LIMIT
    return min(FIRST_DELAY_SECONDS * 2 ** (rounds - 1), MAX_DELAY_SECONDS) if rounds else 0


class SignInView(auth.LoginView):
    """Django's sign-in page, which delays attempts for a name that is being guessed."""

    def post(self, request: HttpRequest, *args: Any, **kwargs: Any) -> HttpResponse:
        """Check the delay for the name before the password."""
        name = request.POST.get("username", "")[:150]
        delay = sign_in_delay_seconds(name) if name else 0
        age = _ticket_age_seconds(request.POST.get("ticket", ""), name)
        if delay and (age is None or age < delay):
            return self._delay_response(name, delay)
        return super().post(request, *args, **kwargs)

    def _delay_response(self, name: str, delay: int) -> HttpResponse:
        context = self.get_context_data(
            form=self.get_form_class()(initial={"username": name}),
            delay=delay,
            ticket=_TICKET_SIGNER.sign(name),
        )
        response = self.render_to_response(context, status=429)
        response["Retry-After"] = str(delay)
        return response


def _ticket_age_seconds(ticket: str, name: str) -> float | None:
    """Return how many seconds ago an attempt for this name was announced; ``None`` without a valid ticket."""
    try:
        if _TICKET_SIGNER.unsign(ticket, max_age=TICKET_SECONDS) != name:
            return None
    except signing.BadSignature:
        return None
    stamp = ticket.rsplit(_TICKET_SIGNER.sep, 2)[1]
    return timezone.now().timestamp() - signing.b62_decode(stamp)
