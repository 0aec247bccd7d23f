"""Declarations of a worker besides the country."""

from django.contrib import messages
from django.http import HttpRequest, HttpResponse
from django.shortcuts import redirect
from django.utils.translation import gettext
from django.views.decorators.http import require_POST

from hits.marketplace.models import Clock, Worker
from hits.marketplace.services import system_qualifications

from .access import worker_required


@require_POST
@worker_required
def declare_adult(request: HttpRequest, worker: Worker) -> HttpResponse:
    """Record that the worker is 18 or older, if they ticked the box."""
    if request.POST.get("adult") == "yes":
        system_qualifications.declare_adult(worker=worker, now=Clock.now())
        messages.success(request, gettext("Recorded: tasks with content for adults are open to you."))
    else:
        messages.warning(request, gettext("Tick the box first if the statement is true."))
    return redirect("marketplace:qualifications")
