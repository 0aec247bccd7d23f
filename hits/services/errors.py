"""What services raise when they refuse."""

import errno


class Refused(Exception):
    """A request that cannot be done as asked; the message says why and how to mend it."""


class BadFile(Refused):
    """An input file, or a row of it, that cannot be used; the message names it."""


class NotStarted(Refused):
    """A job found, before any work, that it cannot do what was asked: going on with it would end the same way."""


class Unconfirmed(Refused):
    """A sum in cents that has to be typed before it is promised, and was not."""

    def __init__(self, message: str, cents: int) -> None:
        super().__init__(message)
        self.cents = cents


class Conflict(Refused):
    """The row is no longer in the state that the request assumed."""


class NoRoom(Refused):
    """The disk is full or refuses to be written to: no fault of what was sent, which can be sent again."""

    @classmethod
    def after(cls, error: OSError, what: str) -> "NoRoom":
        """Say what was not done, why, and the mend."""
        why = (
            "the disk is full; make room" if is_full(error) else f"{error.strerror or error}; mend the folder"
        )
        return cls(f"{what}: {why}, then do the same again")


class Busy(Conflict):
    """Another process does the same; a job comes again in so many seconds, when that one may be believed dead."""

    def __init__(self, message: str, seconds: float) -> None:
        super().__init__(message)
        self.seconds = seconds


class TooLarge(Refused):
    """More was sent than is taken."""


def is_full(error: BaseException | None) -> bool:
    """Whether an error says that a disk, or a share of it, is full."""
    return isinstance(error, OSError) and error.errno in {errno.ENOSPC, errno.EDQUOT}
