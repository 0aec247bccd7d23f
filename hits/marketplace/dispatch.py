"""Handle one API call, from request bytes to reply. HTTP calls and in-process calls both come here."""

import json
import logging
from typing import Any

from django.conf import settings
from django.db import OperationalError, transaction

from hits.domain.mturk_formats.access_keys import derive_secret

from . import shapes, sigv4, wire
from .errors import ApiError, not_implemented_error, validation_error
from .models import AccessKey, Clock
from .operations import registry
from .operations.registry import Call
from .wall_clock import wall_now

log = logging.getLogger(__name__)


def handle_request(request: wire.ApiRequest) -> wire.ApiReply:
    """Answer one API call: authenticate, check the input, run in a separate transaction, check the reply."""
    request_id = wire.new_request_id()
    operation = "?"
    try:
        operation = _operation_name(request)
        result = _run_operation(operation, request)
    except ApiError as error:
        log.info("%s refused: %s (%s)", operation, error.turk_code or error.error_type, request_id)
        return wire.error_reply(error, request_id)
    except OperationalError:
        log.warning("%s: database busy (%s)", operation, request_id, exc_info=True)
        return wire.error_reply(_server_error("The marketplace is busy. Try again."), request_id)
    except Exception:
        log.exception("%s failed (%s)", operation, request_id)
        return wire.error_reply(_server_error("The marketplace failed. Nothing was done."), request_id)
    return wire.success_reply(result, request_id)


def _server_error(message: str) -> ApiError:
    return ApiError("ServerError", message, error_type="ServiceFault", status=500)


def _operation_name(request: wire.ApiRequest) -> str:
    prefix = shapes.service_model().metadata["targetPrefix"] + "."
    target = request.headers.get("x-amz-target", "")
    name = target.removeprefix(prefix)
    if not target.startswith(prefix) or name not in shapes.service_model().operation_names:
        raise ApiError(
            "", "There is no such operation.", error_type="UnknownOperationException", has_timestamp=False
        )
    return name


def _run_operation(operation: str, request: wire.ApiRequest) -> dict[str, Any]:
    access_key_id = sigv4.authenticate(request, _find_secret, wall_now())
    model = shapes.service_model().operation_model(operation)
    params = _parse_params(request)
    try:
        shapes.check_shape(model.input_shape, params, operation)
    except shapes.ShapeError as error:
        raise validation_error(str(error)) from None
    handler = registry.find_handler(operation)
    if handler is None:
        raise not_implemented_error(operation)
    # durable: the caller's transaction must never enclose the marketplace's, not even in one process.
    with transaction.atomic(durable=True):
        requester = AccessKey.objects.select_related("requester").get(access_key_id=access_key_id).requester
        result = shapes.drop_nulls(
            handler(Call(requester=requester, now=Clock.now(), operation=operation), params)
        )
        shapes.check_shape(model.output_shape, result, f"{operation} reply")
    return result


def _find_secret(access_key_id: str) -> str | None:
    if not AccessKey.objects.filter(access_key_id=access_key_id, is_active=True).exists():
        return None
    return derive_secret(settings.MTURK_KEYS_SECRET, access_key_id)


def _parse_params(request: wire.ApiRequest) -> dict[str, Any]:
    try:
        params = shapes.drop_nulls(json.loads(request.body or b"{}"))
    except (ValueError, RecursionError):
        params = None
    if not isinstance(params, dict):
        raise ApiError(
            "", "The body is not a JSON object.", error_type="SerializationException", has_timestamp=False
        )
    return params
