"""One call from its bytes to its reply; the same for HTTP and in process."""

from __future__ import annotations

import json
import logging
from typing import Any

from django.conf import settings
from django.db import OperationalError, transaction

from hits.domain.mturk_formats.access_keys import derive_secret

from . import shapes, sigv4, wire
from .clock import wall_now
from .errors import ApiError, invalid, not_served
from .models import AccessKey, Clock
from .operations import registry
from .operations.registry import Call

log = logging.getLogger(__name__)


def handle(request: wire.ApiRequest) -> wire.ApiReply:
    """Answer one API call: authenticate, check, run in a transaction of its own, check again."""
    request_id = wire.new_request_id()
    operation = "?"
    try:
        operation = _operation_name(request)
        result = _run(operation, request)
    except ApiError as error:
        log.info("%s refused: %s (%s)", operation, error.turk_code or error.kind, request_id)
        return wire.failure(error, request_id)
    except OperationalError:
        log.warning("%s: database busy (%s)", operation, request_id, exc_info=True)
        return wire.failure(_fault("The marketplace is busy. Try again."), request_id)
    except Exception:
        log.exception("%s failed (%s)", operation, request_id)
        return wire.failure(_fault("The marketplace failed. Nothing was done."), request_id)
    return wire.success(result, request_id)


def _fault(message: str) -> ApiError:
    return ApiError("ServerError", message, kind="ServiceFault", status=500)


def _operation_name(request: wire.ApiRequest) -> str:
    prefix = shapes.service_model().metadata["targetPrefix"] + "."
    target = request.headers.get("x-amz-target", "")
    name = target.removeprefix(prefix)
    if not target.startswith(prefix) or name not in shapes.service_model().operation_names:
        raise ApiError("", "There is no such operation.", kind="UnknownOperationException", stamp=False)
    return name


def _run(operation: str, request: wire.ApiRequest) -> dict[str, Any]:
    access_key_id = sigv4.authenticate(request, _secret_of, wall_now())
    model = shapes.operation_model(operation)
    params = _params(request)
    try:
        shapes.check(model.input_shape, params, operation)
    except shapes.ShapeError as error:
        raise invalid(str(error)) from None
    handler = registry.find(operation)
    if handler is None:
        raise not_served(operation)
    # durable: the caller's own transaction must never reach round the marketplace's, in process either.
    with transaction.atomic(durable=True):
        requester = AccessKey.objects.select_related("requester").get(access_key_id=access_key_id).requester
        result = shapes.without_nulls(
            handler(Call(requester=requester, now=Clock.now(), operation=operation), params)
        )
        shapes.check(model.output_shape, result, f"{operation} reply")
    return result


def _secret_of(access_key_id: str) -> str | None:
    if not AccessKey.objects.filter(access_key_id=access_key_id, is_active=True).exists():
        return None
    return derive_secret(settings.MTURK_KEYS_SECRET, access_key_id)


def _params(request: wire.ApiRequest) -> dict[str, Any]:
    try:
        params = shapes.without_nulls(json.loads(request.body or b"{}"))
    except (ValueError, RecursionError):
        params = None
    if not isinstance(params, dict):
        raise ApiError("", "The body is not a JSON object.", kind="SerializationException", stamp=False)
    return params
