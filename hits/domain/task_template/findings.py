"""What a check of a page says: where, how bad, what, and how to mend it."""

from dataclasses import dataclass
from enum import StrEnum


class Severity(StrEnum):
    """How much a finding matters."""

    ERROR = "mend"  # workers could not do the task, or their answers could not be used
    ADVICE = "advice"


@dataclass(frozen=True, slots=True)
class Finding:
    """One thing about a page or its CSV. ``line`` is the page's; 0 where it is about no line of it."""

    line: int
    severity: Severity
    code: str
    what: str
    mend: str


def error_finding(line: int, code: str, what: str, mend: str) -> Finding:
    """Return a finding that has to be mended."""
    return Finding(line, Severity.ERROR, code, what, mend)


def advice_finding(line: int, code: str, what: str, mend: str) -> Finding:
    """Return a finding that a page can live with."""
    return Finding(line, Severity.ADVICE, code, what, mend)
