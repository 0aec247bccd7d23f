"""The worker's Messages page."""

from django.core.paginator import Paginator
from django.http import HttpRequest, HttpResponse
from django.shortcuts import render
from django.views.decorators.cache import never_cache
from django.views.decorators.http import require_GET

from hits.marketplace.models import Clock, Worker
from hits.marketplace.selectors.messages import list_messages
from hits.marketplace.services import messages as services

from .access import worker_required

PER_PAGE = 20


@never_cache
@require_GET
@worker_required
def message_list(request: HttpRequest, worker: Worker) -> HttpResponse:
    """List the worker's messages, newest first, and mark the shown ones as read."""
    page = Paginator(list_messages(worker), PER_PAGE).get_page(request.GET.get("page"))
    services.mark_messages_read(worker=worker, messages=list(page), now=Clock.now())
    return render(request, "marketplace/messages.html", {"worker": worker, "page": page})
