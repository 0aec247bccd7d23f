"""UpdateNotificationSettings, SendTestEventNotification."""

from __future__ import annotations

from typing import Any

from hits.marketplace import delivery
from hits.marketplace.errors import ApiError, invalid
from hits.marketplace.models import Transport
from hits.marketplace.services import notifications
from hits.marketplace.services.events import EventType
from hits.marketplace.services.notifications import Specification

from .lookup import find_hit_type
from .registry import Call, operation

_VERSIONS = ("2014-08-15", "2006-05-05")  # the reference names the first, the model the second


@operation("UpdateNotificationSettings")
def update_notification_settings(call: Call, params: dict[str, Any]) -> dict[str, Any]:
    """Set or replace where a HIT type's events are told, or only switch the telling on or off."""
    hit_type = find_hit_type(call, params["HITTypeId"])
    if "Notification" not in params and "Active" not in params:
        raise invalid("Either the Notification or the Active parameter must be given.")
    specification = _read(params["Notification"]) if "Notification" in params else None
    if specification is not None and EventType.PING in specification.events:
        raise invalid("EventTypes: Ping is only valid for SendTestEventNotification.")
    try:
        notifications.update_setting(
            hit_type=hit_type, specification=specification, active=params.get("Active"), now=call.now
        )
    except notifications.NoSetting:
        raise invalid(
            f"HITType {hit_type.hit_type_id} has no notification specification yet: give one with Notification."
        ) from None
    return {}


@operation("SendTestEventNotification")
def send_test_event_notification(call: Call, params: dict[str, Any]) -> dict[str, Any]:
    """Send a message as if an event had happened, whether the specification names that event or not."""
    notifications.send_test(
        requester=call.requester,
        specification=_read(params["Notification"]),
        kind=EventType(params["TestEventType"]),
        now=call.now,
    )
    return {}


def _read(wire: dict[str, Any]) -> Specification:
    if wire["Transport"] not in Transport.values:
        raise ApiError(
            "NotImplemented",
            f"This marketplace sends no notifications by {wire['Transport']}: use Transport SNS or SQS with an "
            "https address of your own as Destination.",
        )
    if wire["Version"] not in _VERSIONS:
        raise invalid(f"Version: {wire['Version'][:40]!r} is not one of {', '.join(_VERSIONS)}.")
    if not wire["EventTypes"]:
        raise invalid("EventTypes: at least one event must be named.")
    try:
        delivery.check_destination(wire["Destination"])
    except delivery.DestinationError as error:
        raise ApiError("InvalidTransportEndpoint", str(error)) from None
    return Specification(
        destination=wire["Destination"],
        transport=Transport(wire["Transport"]),
        events=tuple(EventType(name) for name in dict.fromkeys(wire["EventTypes"])),
    )
