"""Registry of the operations by their API name."""

from collections.abc import Callable
from dataclasses import dataclass
from datetime import datetime
from typing import Any

from hits.marketplace.models import Requester
from hits.marketplace.shapes import service_model


@dataclass(frozen=True)
class Call:
    """The caller, the marketplace time of the call, and the operation's name."""

    requester: Requester
    now: datetime
    operation: str


Handler = Callable[[Call, dict[str, Any]], dict[str, Any]]
_HANDLERS: dict[str, Handler] = {}


def operation(name: str) -> Callable[[Handler], Handler]:
    """Register a function as the operation of that name. Raises LookupError for an unknown name."""
    if name not in service_model().operation_names:
        raise LookupError(f"The API has no operation {name}.")
    if name in _HANDLERS:
        raise LookupError(f"Operation {name} is registered twice.")

    def register(handler: Handler) -> Handler:
        _HANDLERS[name] = handler
        return handler

    return register


def find_handler(name: str) -> Handler | None:
    """Return the function for an operation, or None when this marketplace does not serve it."""
    return _HANDLERS.get(name)
