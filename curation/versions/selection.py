"""Selections: the approved records of a version, optionally filtered by decisions and audits.

A selection is stored with the draft and sealed with it. ``{}`` selects every approved record.
"""

from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from enum import StrEnum
from typing import Any

from curation.records import InvalidInput


class ExclusionReason(StrEnum):
    """Why a record is excluded. The first one that applies is the main reason; others are stored with it."""

    SIMULATED = "simulated"
    IMAGE_TAKEN_DOWN = "image_taken_down"
    AUDIT_CONCERN = "audit_concern"
    JUDGED_AGAINST = "judged_against"
    NOT_JUDGED = "not_judged"
    UNDECIDED = "undecided"
    LOST_A_PART = "lost_a_part"


REASON_ORDER = tuple(ExclusionReason)
REASON_LABELS: Mapping[str, str] = {
    ExclusionReason.SIMULATED: "simulated",
    ExclusionReason.IMAGE_TAKEN_DOWN: "photo taken down",
    ExclusionReason.AUDIT_CONCERN: "marked in an audit",
    ExclusionReason.JUDGED_AGAINST: "rejected by the decision run",
    ExclusionReason.NOT_JUDGED: "not judged in the decision run",
    ExclusionReason.UNDECIDED: "undecided in the decision run",
    ExclusionReason.LOST_A_PART: "lost a part",
}


@dataclass(frozen=True, slots=True)
class DecisionChoice:
    """Records that a decision run accepts in all of ``dimensions``.

    ``keep_not_judged`` keeps records without a decision in one of them, ``keep_undecided`` those left undecided.
    """

    run: int
    dimensions: tuple[str, ...]
    keep_not_judged: bool = False
    keep_undecided: bool = False

    def as_json(self) -> dict[str, Any]:
        """Return the choice as JSON."""
        return {
            "run": self.run,
            "dimensions": list(self.dimensions),
            "not_judged": "in" if self.keep_not_judged else "out",
            "undecided": "in" if self.keep_undecided else "out",
        }


@dataclass(frozen=True, slots=True)
class AuditChoice:
    """Exclude records to which at least ``readers`` readers of an audit gave one of ``values`` for ``code``."""

    audit: int
    code: str
    values: tuple[str, ...]
    readers: int = 1

    def as_json(self) -> dict[str, Any]:
        """Return the choice as JSON."""
        return {"audit": self.audit, "code": self.code, "values": list(self.values), "readers": self.readers}


@dataclass(frozen=True, slots=True)
class Selection:
    """Which approved records a version contains."""

    decisions: DecisionChoice | None = None
    audits: tuple[AuditChoice, ...] = ()

    @property
    def is_everything(self) -> bool:
        """Whether every approved record is selected."""
        return self.decisions is None and not self.audits

    def as_json(self) -> dict[str, Any]:
        """Return the selection as JSON, as stored in drafts and checksum lists."""
        found: dict[str, Any] = {}
        if self.decisions is not None:
            found["decisions"] = self.decisions.as_json()
        if self.audits:
            found["audits"] = [audit.as_json() for audit in self.audits]
        return found

    @classmethod
    def from_json(cls, raw: Any) -> "Selection":
        """Return the selection written by ``as_json``; an empty one selects every approved record.

        Raises:
            InvalidInput: a field is unknown, missing or of another type; the message names it.
        """
        if raw is None:
            return cls()
        _check_fields(raw, "selection", {"decisions", "audits"})
        decisions = raw.get("decisions")
        audits = raw.get("audits", [])
        if not isinstance(audits, list):
            raise InvalidInput("selection.audits: is not a list; write a list of audits")
        return cls(
            decisions=None if decisions is None else _parse_decisions(decisions),
            audits=tuple(_parse_audit(row, f"selection.audits[{index}]") for index, row in enumerate(audits)),
        )


def split_main_reason(
    reasons: Sequence[ExclusionReason],
) -> tuple[ExclusionReason, tuple[ExclusionReason, ...]]:
    """Return the main reason and the others, by ``REASON_ORDER``."""
    ordered = sorted(set(reasons), key=REASON_ORDER.index)
    return ordered[0], tuple(ordered[1:])


def _parse_decisions(raw: Any) -> DecisionChoice:
    path = "selection.decisions"
    _check_fields(raw, path, {"run", "dimensions", "not_judged", "undecided"})
    dimensions = _parse_names(raw.get("dimensions"), f"{path}.dimensions")
    return DecisionChoice(
        run=_parse_number(raw.get("run"), f"{path}.run"),
        dimensions=dimensions,
        keep_not_judged=_parse_is_in(raw.get("not_judged", "out"), f"{path}.not_judged"),
        keep_undecided=_parse_is_in(raw.get("undecided", "out"), f"{path}.undecided"),
    )


def _parse_audit(raw: Any, path: str) -> AuditChoice:
    _check_fields(raw, path, {"audit", "code", "values", "readers"})
    code = raw.get("code")
    if not isinstance(code, str) or not code:
        raise InvalidInput(f"{path}.code: name a code of the audit's codebook")
    return AuditChoice(
        audit=_parse_number(raw.get("audit"), f"{path}.audit"),
        code=code,
        values=_parse_names(raw.get("values"), f"{path}.values"),
        readers=_parse_number(raw.get("readers", 1), f"{path}.readers"),
    )


def _check_fields(raw: Any, path: str, known: set[str]) -> None:
    if not isinstance(raw, Mapping):
        raise InvalidInput(f"{path}: is not an object; write one with {', '.join(sorted(known))}")
    unknown = sorted(set(raw) - known)
    if unknown:
        raise InvalidInput(f"{path}.{unknown[0]}: is not known; use {', '.join(sorted(known))}")


def _parse_number(raw: Any, path: str) -> int:
    if type(raw) is not int or raw < 1:
        raise InvalidInput(f"{path}: {raw!r}; use a whole number from 1")
    return raw


def _parse_names(raw: Any, path: str) -> tuple[str, ...]:
    if not isinstance(raw, list) or not raw or not all(isinstance(name, str) and name for name in raw):
        raise InvalidInput(f"{path}: use a list of one or more words")
    return tuple(dict.fromkeys(raw))


def _parse_is_in(raw: Any, path: str) -> bool:
    if raw not in ("in", "out"):
        raise InvalidInput(f"{path}: {raw!r}; use in or out")
    return bool(raw == "in")
