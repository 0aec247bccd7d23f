"""Signing in under attack: nobody guesses for long, and nobody can shut somebody else out.

Three brakes, all counted in the database, so that no outage of a cache releases them:

- eight wrong passwords for one name from one address pause that pair for a quarter of an hour (django-axes);
- thirty wrong ones from one address, whatever the names, pause that address as long;
- a name that was tried wrongly from elsewhere eight times is never paused: each try has to be announced, and waits
  some seconds that grow with the tries. A ticket in the form says when it was announced; no thread waits meanwhile.
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

WITHIN = timedelta(minutes=15)
FIRST_DELAY_SECONDS, MOST_DELAY_SECONDS = 5, 60
TICKET_SECONDS = 900
_TICKET = signing.TimestampSigner(salt="sign-in.ticket")


def client_address(request: HttpRequest) -> str:
    """Return the address that limits are counted under: what the nearest proxy saw, or the connection's own.

    Only the last entry of X-Forwarded-For is the proxy's; what stands before it the client wrote.
    """
    if settings.REST_FRAMEWORK["NUM_PROXIES"]:
        forwarded = str(request.META.get("HTTP_X_FORWARDED_FOR", "")).split(",")
        if forwarded[-1].strip():
            return forwarded[-1].strip()
    return str(request.META.get("REMOTE_ADDR", ""))


class SignInHandler(AxesDatabaseHandler):
    """django-axes' counting, with a second, wider limit for an address alone."""

    def is_locked(self, request: HttpRequest, credentials: dict[str, Any] | None = None) -> bool:
        """Whether this name from here, or everything from here, is paused."""
        if super().is_locked(request, credentials):
            return True
        failures = _failures(ip_address=client_address(request))
        return failures >= settings.SIGN_IN_FAILURES_PER_ADDRESS

    def user_login_failed(
        self, sender: Any, credentials: dict[str, Any], request: HttpRequest | None = None, **kwargs: Any
    ) -> None:
        """Count, and have the page say that it is paused when that is so."""
        super().user_login_failed(sender, credentials, request, **kwargs)
        if request is not None and self.is_locked(request, credentials):
            setattr(request, "axes_locked_out", True)  # noqa: B010 - axes' middleware looks at it


def _failures(**of: str) -> int:
    """Count wrong passwords of the last quarter of an hour."""
    recent = AccessAttempt.objects.filter(attempt_time__gte=timezone.now() - WITHIN, **of)
    return int(recent.aggregate(n=Sum("failures_since_start"))["n"] or 0)


def delay_seconds(name: str) -> int:
    """Return how long a try for this name has to have been announced: 0 until it was tried wrongly often enough."""
    rounds = _failures(username=name) // settings.AXES_FAILURE_LIMIT
    return min(FIRST_DELAY_SECONDS * 2 ** (rounds - 1), MOST_DELAY_SECONDS) if rounds else 0


class SignInView(auth.LoginView):
    """Django's page, which makes a name that is being guessed wait between its tries."""

    def post(self, request: HttpRequest, *args: Any, **kwargs: Any) -> HttpResponse:
        """Look at the brake for the name before the password is looked at."""
        name = request.POST.get("username", "")[:150]
        delay = delay_seconds(name) if name else 0
        waited = _waited(request.POST.get("ticket", ""), name)
        if delay and (waited is None or waited < delay):
            return self._wait(name, delay)
        return super().post(request, *args, **kwargs)

    def _wait(self, name: str, delay: int) -> HttpResponse:
        context = self.get_context_data(
            form=self.get_form_class()(initial={"username": name}), wait=delay, ticket=_TICKET.sign(name)
        )
        response = self.render_to_response(context, status=429)
        response["Retry-After"] = str(delay)
        return response


def _waited(ticket: str, name: str) -> float | None:
    """Return how many seconds ago a try for this name was announced; ``None`` without a ticket that holds."""
    try:
        if _TICKET.unsign(ticket, max_age=TICKET_SECONDS) != name:
            return None
    except signing.BadSignature:
        return None
    stamp = ticket.rsplit(_TICKET.sep, 2)[1]
    return timezone.now().timestamp() - signing.b62_decode(stamp)
