"""UpdateNotificationSettings, SendTestEventNotification."""

from typing import Any

from hits.marketplace import delivery
from hits.marketplace.errors import ApiError, validation_error
from hits.marketplace.models import Transport
from hits.marketplace.services import notifications
from hits.marketplace.services.events import EventType
from hits.marketplace.services.notifications import NotificationSpecification

from .lookup import find_hit_type
from .registry import Call, operation

_VERSIONS = ("2014-08-15", "2006-05-05")  # the reference has the first, the model the second


@operation("UpdateNotificationSettings")
def update_notification_settings(call: Call, params: dict[str, Any]) -> dict[str, Any]:
    """Set or replace the destination of a HIT type's events, or only switch notifications on or off."""
    hit_type = find_hit_type(call, params["HITTypeId"])
    if "Notification" not in params and "Active" not in params:
        raise validation_error("Give the Notification or the Active parameter.")
    specification = _read_specification(params["Notification"]) if "Notification" in params else None
    if specification is not None and EventType.PING in specification.events:
        raise validation_error("EventTypes: Ping is only valid for SendTestEventNotification.")
    notifications.update_notification_setting(
        hit_type=hit_type, specification=specification, active=params.get("Active"), now=call.now
    )
    return {}


@operation("SendTestEventNotification")
def send_test_event_notification(call: Call, params: dict[str, Any]) -> dict[str, Any]:
    """Send a test message about an event, even if the specification does not list that event."""
    notifications.send_test_notification(
        requester=call.requester,
        specification=_read_specification(params["Notification"]),
        kind=EventType(params["TestEventType"]),
        now=call.now,
    )
    return {}


def _read_specification(row: dict[str, Any]) -> NotificationSpecification:
    if row["Transport"] not in Transport.values:
        raise ApiError(
            "NotImplemented",
            f"This marketplace sends no notifications by {row['Transport']}. Use Transport SNS or SQS with your "
            "own https URL as Destination.",
        )
    if row["Version"] not in _VERSIONS:
        raise validation_error(f"Version: {row['Version'][:40]!r} is not one of {', '.join(_VERSIONS)}.")
    if not row["EventTypes"]:
        raise validation_error("EventTypes: at least one event must be named.")
    try:
        delivery.check_destination(row["Destination"])
    except delivery.DestinationError as error:
        raise ApiError("InvalidTransportEndpoint", str(error)) from None
    return NotificationSpecification(
        destination=row["Destination"],
        transport=Transport(row["Transport"]),
        events=tuple(EventType(name) for name in dict.fromkeys(row["EventTypes"])),
    )
