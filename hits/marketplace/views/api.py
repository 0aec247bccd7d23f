"""The requester API over HTTP. The view reads the raw body, because the body is signed."""

from django.contrib.auth.decorators import login_not_required
from django.core.exceptions import RequestDataTooBig
from django.http import HttpRequest, HttpResponse, RawPostDataException
from django.views.decorators.csrf import csrf_exempt
from django.views.decorators.http import require_POST

from hits.marketplace import dispatch, legacy_api, wire
from hits.marketplace.errors import ApiError


@csrf_exempt
@login_not_required
def requester_api(request: HttpRequest) -> HttpResponse:
    """Answer one call. The signature identifies the caller, not a session."""
    if legacy_api.is_legacy_call(request.META.get("QUERY_STRING", "")):
        return _http_response(legacy_api.refusal_reply(wire.new_request_id()))  # such calls used GET
    return _answer_api_post(request)


@require_POST
def _answer_api_post(request: HttpRequest) -> HttpResponse:
    try:
        body = request.body
    except RawPostDataException:  # the body was parsed as a form with files, which no API call is
        body = b""
    except RequestDataTooBig:
        refusal = ApiError("RequestTooLarge", "The request is too large.", status=413)
        return _http_response(wire.error_reply(refusal, wire.new_request_id()))
    if request.content_type == legacy_api.FORM_CONTENT_TYPE and legacy_api.is_legacy_call(
        body.decode("latin-1")
    ):
        return _http_response(legacy_api.refusal_reply(wire.new_request_id()))
    call = wire.ApiRequest(
        method=request.method or "POST",
        path=request.path,
        query=request.META.get("QUERY_STRING", ""),
        headers={name.lower(): value for name, value in request.headers.items()},
        body=body,
    )
    return _http_response(dispatch.handle_request(call))


def _http_response(reply: wire.ApiReply) -> HttpResponse:
    return HttpResponse(reply.body, status=reply.status, headers=reply.headers)
