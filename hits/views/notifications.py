"""Where a marketplace tells us that something happened. Public: the address itself is the secret."""

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
def notification(request: HttpRequest, key: str) -> HttpResponse:
    """Take in one notification. 200 also for a double, so that the sender stops; 400 for what is none."""
    environment = environments.current().name
    if not hmac.compare_digest(key.encode(), notifications.key_of(environment).encode()):
        raise Http404("There is no such page.")
    try:
        body = request.body
    except RequestDataTooBig:
        return _plain(413, f"A notification has at most {MAX_BYTES} bytes.")
    except RawPostDataException:
        return _plain(400, "Send JSON, or a form that is not multipart.")
    if len(body) > MAX_BYTES:
        return _plain(413, f"A notification has at most {MAX_BYTES} bytes.")
    try:
        document = parse_notification(body, request.content_type or "")
    except EventError as error:
        return _plain(400, f"This is no notification: {error}.")
    notifications.receive(environment=environment, document=document)
    return HttpResponse(status=200)


def _plain(status: int, sentence: str) -> HttpResponse:
    return HttpResponse(sentence, status=status, content_type="text/plain; charset=utf-8")
