"""What services raise when they refuse."""


class Refused(Exception):
    """A request that cannot be done as asked; the message says why and how to mend it."""


class BadFile(Refused):
    """An input file, or a row of it, that cannot be used; the message names it."""


class Unconfirmed(Refused):
    """A sum in cents that has to be typed before it is promised, and was not."""

    def __init__(self, message: str, cents: int) -> None:
        super().__init__(message)
        self.cents = cents


class Conflict(Refused):
    """The row is no longer in the state that the request assumed."""


class TooLarge(Refused):
    """More was sent than is taken."""
