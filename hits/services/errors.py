"""Exceptions of the services."""

import errno


class Refused(Exception):
    """A request that the service refuses; the message gives the reason and the fix."""


class BadFile(Refused):
    """An unusable input file or row; the message names it."""


class JobCannotStart(Refused):
    """A job refused its request before any work; if it were resumed, it would fail in the same way."""


class ConfirmationRequired(Refused):
    """A sum in cents has to be typed before money is committed."""

    def __init__(self, message: str, cents: int) -> None:
        super().__init__(message)
        self.cents = cents


class Conflict(Refused):
    """The row is no longer in the state that the request expects."""


class StorageFull(Refused):
    """The disk is full or not writable; the same file can be sent again later."""

    @classmethod
    def from_os_error(cls, error: OSError, failure: str) -> "StorageFull":
        """Return the error for a failed write, with its reason and fix."""
        reason = (
            "the disk is full; free disk space"
            if is_disk_full(error)
            else f"{error.strerror or error}; fix the folder"
        )
        return cls(f"{failure}: {reason}, then do the same again")


class RetryLater(Conflict):
    """Another process does the same; a job retries after ``seconds``, when that process may be dead."""

    def __init__(self, message: str, seconds: float) -> None:
        super().__init__(message)
        self.seconds = seconds


class ContentTooLarge(Refused):
    """The request is larger than its limit."""


def is_disk_full(error: BaseException | None) -> bool:
    """Return whether an error reports a full disk or an exhausted quota."""
    return isinstance(error, OSError) and error.errno in {errno.ENOSPC, errno.EDQUOT}
