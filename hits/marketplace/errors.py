"""Errors of the requester API and of the worker site."""

ERROR_CODE_PREFIX = "AWS.MechanicalTurk."


class ApiError(Exception):
    """An error reply to the requester: ``{"__type", "Message", "TurkErrorCode"}``.

    ``code`` is the part after ``AWS.MechanicalTurk.``. ``error_type`` is an exception name of the model, or another
    name that the service is known to send. The dispatcher appends the time to the message.
    """

    def __init__(
        self,
        code: str,
        message: str,
        *,
        error_type: str = "RequestError",
        status: int = 400,
        has_timestamp: bool = True,
    ) -> None:
        super().__init__(message)
        self.message = message
        self.turk_code = ERROR_CODE_PREFIX + code if code and "." not in code else code
        self.error_type = error_type
        self.status = status
        self.has_timestamp = has_timestamp


def validation_error(message: str, code: str = "ParameterValidationError") -> ApiError:
    """Return the error for a parameter that the API's rules do not allow."""
    return ApiError(code, message, error_type="ParameterValidationError")


def not_found_error(row_type: str, public_id: str) -> ApiError:
    """Return the error for a row that does not exist or belongs to another requester; the reply is the same."""
    return ApiError(f"{row_type}DoesNotExist", f"{row_type} {public_id} does not exist.")


def not_implemented_error(operation: str) -> ApiError:
    """Return the error for an operation that the API has and this marketplace does not serve."""
    return ApiError("NotImplemented", f"This marketplace does not serve {operation} yet. Nothing was done.")


class ActionRefused(Exception):
    """A refused action. The message is shown to a worker or an administrator on a page."""
