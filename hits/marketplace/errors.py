"""What the marketplace refuses, in the words of the API and in those of the worker site."""

from __future__ import annotations

PREFIX = "AWS.MechanicalTurk."


class ApiError(Exception):
    """A refusal that goes to the requester as ``{"__type", "Message", "TurkErrorCode"}``.

    ``code`` is the part after ``AWS.MechanicalTurk.``; ``kind`` the exception name of the model (or one of
    the names the service is known to send besides). The dispatcher adds the time to the message.
    """

    def __init__(
        self, code: str, message: str, *, kind: str = "RequestError", status: int = 400, stamp: bool = True
    ) -> None:
        super().__init__(message)
        self.message = message
        self.turk_code = PREFIX + code if code and "." not in code else code
        self.kind = kind
        self.status = status
        self.stamp = stamp


def invalid(message: str, code: str = "ParameterValidationError") -> ApiError:
    """A parameter which the API's rules do not allow."""
    return ApiError(code, message, kind="ParameterValidationError")


def missing(kind: str, public_id: str) -> ApiError:
    """Something that does not exist or belongs to another requester: both look the same from outside."""
    return ApiError(f"{kind}DoesNotExist", f"{kind} {public_id} does not exist.")


def not_served(what: str) -> ApiError:
    """Something the API knows and this marketplace does not do yet: said plainly, never pretended."""
    return ApiError("NotImplemented", f"This marketplace does not serve {what} yet. Nothing was done.")


class Refused(Exception):
    """A refusal shown to a worker or an administrator, in a sentence fit for a page."""
