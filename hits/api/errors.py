"""Turn domain errors into replies: one sentence, and the fields where there are any."""

from typing import Any

from django.core.exceptions import RequestDataTooBig
from django.utils.translation import gettext
from rest_framework import status
from rest_framework.response import Response
from rest_framework.views import exception_handler

from hits.kind import InvalidInput
from hits.services.collecting.page_keys import BadToken
from hits.services.collecting.submit import AnotherTab, NotEligible
from hits.services.errors import Conflict, Refused, TooLarge

_STATUS: list[tuple[type[Exception], int]] = [
    (BadToken, status.HTTP_401_UNAUTHORIZED),
    (NotEligible, status.HTTP_403_FORBIDDEN),
    (TooLarge, status.HTTP_413_REQUEST_ENTITY_TOO_LARGE),
    (Conflict, status.HTTP_409_CONFLICT),
    (Refused, status.HTTP_400_BAD_REQUEST),
]


def handle(error: Exception, context: dict[str, Any]) -> Response | None:
    """Return the reply for an exception, or ``None`` to let it become a server error."""
    if isinstance(error, InvalidInput):
        errors = [{**row, "message": _told(row["message"])} for row in error.as_list()]
        body = {"error": f"{errors[0]['field']}: {errors[0]['message']}", "errors": errors}
        return Response(body, status=status.HTTP_400_BAD_REQUEST)
    if isinstance(error, AnotherTab):
        draft = error.draft
        clash: dict[str, Any] = {"error": _told(error), "revision": draft.revision, "content": draft.content}
        return Response(clash, status=status.HTTP_409_CONFLICT)
    if isinstance(error, RequestDataTooBig):
        error = TooLarge("The request is too large; shorten the texts.")
    for kind, code in _STATUS:
        if isinstance(error, kind):
            return Response({"error": _told(error), "errors": []}, status=code)
    response = exception_handler(error, context)
    if response is not None:
        detail = response.data.get("detail", "") if isinstance(response.data, dict) else ""
        response.data = {
            "error": str(detail or gettext("The request is not valid.")),
            "errors": _fields(response.data),
        }
    return response


def _told(message: object) -> str:
    """Return a service's sentence in the page's language, where it is one that is always the same."""
    return gettext(str(message)) if str(message) else ""


def _fields(data: Any) -> list[dict[str, str]]:
    if not isinstance(data, dict):
        return []
    return [
        {"field": str(field), "message": str(messages[0] if isinstance(messages, list) else messages)}
        for field, messages in data.items()
        if field != "detail"
    ]
