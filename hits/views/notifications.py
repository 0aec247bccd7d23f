"""The endpoint for a marketplace's notifications. Public: the address itself is the secret."""

import hmac

from django.contrib.auth.decorators import login_not_required
from django.core.exceptions import RequestDataTooBig
from django.http import Http404, HttpRequest, HttpResponse
from django.http.request import RawPostDataException
from django.views.decorators.csrf import csrf_exempt
from django.views.decorators.http import require_POST

from hits.domain.mturk_formats.notification_events import MAX_BYTES, EventError, parse_notification
from hits.mturk import environments
from hits.services.collecting import notifications


@csrf_exempt
@login_not_required
@require_POST
def receive_notification(request: HttpRequest, key: str) -> HttpResponse:
    """Receive one notification. A duplicate gets 200 so that the sender stops; an invalid one gets 400."""
    environment = environments.current_environment().name
    if not hmac.compare_digest(key.encode(), notifications.notification_key(environment).encode()):
        raise Http404("There is no such page.")
    try:
        body = request.body
    except RequestDataTooBig:
        return _text_response(413, f"A notification has at most {MAX_BYTES} bytes.")
    except RawPostDataException:
        return _text_response(400, "Send JSON, or a form that is not multipart.")
    if len(body) > MAX_BYTES:
        return _text_response(413, f"A notification has at most {MAX_BYTES} bytes.")
    try:
        document = parse_notification(body, request.content_type or "")
    except EventError as error:
        return _text_response(400, f"This is not a notification: {error}.")
    notifications.store_notification(environment=environment, document=document)
    return HttpResponse(status=200)


def _text_response(status: int, message: str) -> HttpResponse:
    return HttpResponse(message, status=status, content_type="text/plain; charset=utf-8")
