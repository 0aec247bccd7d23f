"""Access checks for the pages of the worker site."""

from collections.abc import Callable
from functools import wraps
from typing import Any

from django.contrib.auth.decorators import login_required
from django.core.exceptions import PermissionDenied
from django.http import HttpRequest, HttpResponseBase
from django.shortcuts import render

from hits.marketplace.models import Worker

View = Callable[..., HttpResponseBase]


def find_worker(request: HttpRequest) -> Worker | None:
    """Return the signed-in user's worker, or None."""
    if not request.user.is_authenticated:
        return None
    return Worker.objects.filter(user=request.user.pk, user__is_active=True).first()


def worker_required(view: View) -> View:
    """Call the view with the signed-in worker as ``worker``; others get an explanation (403)."""

    @login_required
    @wraps(view)
    def wrapper(request: HttpRequest, *args: Any, **kwargs: Any) -> HttpResponseBase:
        worker = find_worker(request)
        if worker is None:
            return render(request, "marketplace/not_a_worker.html", status=403)
        return view(request, *args, worker=worker, **kwargs)

    return wrapper


def platform_admin_required(view: View) -> View:
    """Allow superusers only; others get 403."""

    @login_required
    @wraps(view)
    def wrapper(request: HttpRequest, *args: Any, **kwargs: Any) -> HttpResponseBase:
        if not request.user.is_superuser:
            raise PermissionDenied("Only platform admins manage marketplace accounts.")
        return view(request, *args, **kwargs)

    return wrapper
