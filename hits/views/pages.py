"""What the console's pages share: the context of a batch's page, and messages about an action."""

from collections.abc import Iterator
from contextlib import contextmanager
from typing import Any

from django.contrib import messages
from django.http import HttpRequest

from hits.models import Batch
from hits.services.errors import Refused


def batch_context(batch: Batch) -> dict[str, Any]:
    """Return the context that the frame of a batch's page needs."""
    return {"project": batch.project, "section": "batches", "batch": batch}


@contextmanager
def action_messages(
    request: HttpRequest, failure: str = "", success: str = "", *, level: int = messages.ERROR
) -> Iterator[None]:
    """Show a refusal as ``failure: reason`` (as it is without ``failure``); otherwise show ``success``, if any."""
    try:
        yield
    except Refused as error:
        reason = f"{failure}: {str(error).rstrip('.')}." if failure else str(error)
        messages.add_message(request, level, reason)
    else:
        if success:
            messages.success(request, success)
