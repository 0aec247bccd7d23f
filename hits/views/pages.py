"""What the console's pages share: a batch page's context, pagination, 404 errors, and messages about actions."""

from collections.abc import Iterator
from contextlib import contextmanager
from typing import Any, TypeVar

from django.contrib import messages
from django.core.paginator import Page, Paginator
from django.http import Http404, HttpRequest

from hits.models import Batch
from hits.services.errors import Refused

Row = TypeVar("Row")


def batch_context(batch: Batch) -> dict[str, Any]:
    """Return the context that the frame of a batch's page needs."""
    return {"project": batch.project, "section": "batches", "batch": batch}


def get_page(request: HttpRequest, rows: Any, size: int, name: str = "page") -> Page[Any]:
    """Return the page of rows whose number is in the query string."""
    return Paginator(rows, size).get_page(request.GET.get(name))


def get_or_404(found: Row | None, message: str = "There is no such page.") -> Row:
    """Return ``found``, or raise Http404 with the message if it is ``None``."""
    if found is None:
        raise Http404(message)
    return found


@contextmanager
def action_messages(
    request: HttpRequest, failure: str = "", success: str = "", *, level: int = messages.ERROR
) -> Iterator[None]:
    """Show a refusal as ``failure: reason``, or as its reason alone; otherwise show ``success``, if any."""
    try:
        yield
    except Refused as error:
        reason = f"{failure}: {str(error).rstrip('.')}." if failure else str(error)
        messages.add_message(request, level, reason)
    else:
        if success:
            messages.success(request, success)
