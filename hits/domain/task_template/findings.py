"""The findings of a page check: line, severity, problem and fix."""

from dataclasses import dataclass
from enum import StrEnum


class Severity(StrEnum):
    """The severity of a finding."""

    ERROR = "mend"  # workers could not do the task, or their answers would be unusable
    ADVICE = "advice"


@dataclass(frozen=True, slots=True)
class Finding:
    """One finding about a page or its CSV. ``line`` is a line of the page, or 0."""

    line: int
    severity: Severity
    code: str
    problem: str
    fix: str

    def as_row(self) -> dict[str, str | int]:
        """Return the finding with the keys of ``check_template --json``."""
        row: dict[str, str | int] = {"line": self.line, "severity": self.severity, "code": self.code}
        return row | {"what": self.problem, "mend": self.fix}


def error_finding(line: int, code: str, problem: str, fix: str) -> Finding:
    """Return a finding that must be corrected."""
    return Finding(line, Severity.ERROR, code, problem, fix)


def advice_finding(line: int, code: str, problem: str, fix: str) -> Finding:
    """Return a finding that may stay."""
    return Finding(line, Severity.ADVICE, code, problem, fix)
