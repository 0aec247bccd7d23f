"""Turn domain errors into JSON replies: a message, and the errors by field."""

from typing import Any

from django.core.exceptions import RequestDataTooBig
from django.utils.translation import gettext
from rest_framework import status
from rest_framework.response import Response
from rest_framework.views import exception_handler

from hits.kind import InvalidInput
from hits.services.collecting.page_keys import BadToken
from hits.services.collecting.submit import DraftConflict, NotEligible
from hits.services.errors import Conflict, ContentTooLarge, Refused

_STATUS_BY_ERROR: list[tuple[type[Exception], int]] = [
    (BadToken, status.HTTP_401_UNAUTHORIZED),
    (NotEligible, status.HTTP_403_FORBIDDEN),
    (ContentTooLarge, status.HTTP_413_REQUEST_ENTITY_TOO_LARGE),
    (Conflict, status.HTTP_409_CONFLICT),
    (Refused, status.HTTP_400_BAD_REQUEST),
]


def handle_exception(error: Exception, context: dict[str, Any]) -> Response | None:
    """Return the reply for an exception, or ``None`` for a server error."""
    if isinstance(error, InvalidInput):
        errors = [{**row, "message": _translate(row["message"])} for row in error.as_list()]
        body = {"error": f"{errors[0]['field']}: {errors[0]['message']}", "errors": errors}
        return Response(body, status=status.HTTP_400_BAD_REQUEST)
    if isinstance(error, DraftConflict):
        draft = error.draft
        body_with_draft: dict[str, Any] = {
            "error": _translate(error),
            "revision": draft.revision,
            "content": draft.content,
        }
        return Response(body_with_draft, status=status.HTTP_409_CONFLICT)
    if isinstance(error, RequestDataTooBig):
        error = ContentTooLarge("The request is too large; shorten the texts.")
    for kind, code in _STATUS_BY_ERROR:
        if isinstance(error, kind):
            return Response({"error": _translate(error), "errors": []}, status=code)
    response = exception_handler(error, context)
    if response is not None:
        detail = response.data.get("detail", "") if isinstance(response.data, dict) else ""
        response.data = {
            "error": str(detail or gettext("The request is not valid.")),
            "errors": _field_errors(response.data),
        }
    return response


def _translate(message: object) -> str:
    """Return a service's message in the page's language if the catalogue has it."""
    return gettext(str(message)) if str(message) else ""


def _field_errors(data: Any) -> list[dict[str, str]]:
    if not isinstance(data, dict):
        return []
    return [
        {"field": str(field), "message": str(messages[0] if isinstance(messages, list) else messages)}
        for field, messages in data.items()
        if field != "detail"
    ]
