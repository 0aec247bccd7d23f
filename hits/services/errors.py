"""What services raise when they refuse."""


class Refused(Exception):
    """A request that cannot be done as asked; the message says why and how to mend it."""


class BadFile(Refused):
    """An input file, or a row of it, that cannot be used; the message names it."""


class Conflict(Refused):
    """The row is no longer in the state that the request assumed."""


class TooLarge(Refused):
    """More was sent than is taken."""
