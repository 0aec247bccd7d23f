"""The audits of a question set as a panel: ``curation/questions/_audits.html`` shows it as ``audits``."""

from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from typing import Any

from curation.evaluation.choice_shortcuts import CHANCE
from curation.models import AuditWaiver, QuestionSet
from curation.selectors.choice_audits import audits_over_limit, current_waiver
from curation.services.choice_audits import MAX_REASON_LENGTH, MIN_REASON_LENGTH
from curation.views.questions.labels import STAGE_LABELS
from hits.charts.scale import percent_text

AUDIT_LABELS: Mapping[str, tuple[str, str]] = {
    "tag_overlap": ("Shared objects", "the choice that tags most objects of its question"),
    "word_overlap": ("Shared words", "the choice that has most words of its question"),
    "longest": ("Length", "the longest choice"),
    "pronoun_agreement": ("Pronouns", "a choice with “he”, “she” or the like"),
    "negation": ("Negation", "a choice with “not” or the like"),
    "response_only": ("Choices alone", "a classifier that sees only the four choices"),
    "question_response": ("Question and choices", "a classifier that sees no image"),
    "tags_only": ("Tags alone", "a classifier that sees which objects are tagged, and no word"),
}
"""A label, and what is chosen, for each audit with a share; in the order of the panel."""
LIST_LABELS: Mapping[str, tuple[str, str]] = {
    "near_copies": ("Near copies of the right choice", "They may be right, too."),
    "absent_classes": (
        "Words for objects that the photo does not have",
        "Such a choice can be excluded by the objects.",
    ),
    "repeated_tags": ("One object twice in a clause", "Such as “person 1 looks at person 1”."),
}
SHOWN_CASES = 10


@dataclass(frozen=True, slots=True)
class ShownShare:
    """An audit of one stage: how often it is right, its limits, and the published figure; all formatted.

    value: equal choices count their part. first, among: the first of equal ones; the right one among the best.
    reason: why nothing was measured.
    """

    stage: str
    value: str
    limit: str
    is_over: bool
    first: str
    among: str
    published: str
    reason: str


@dataclass(frozen=True, slots=True)
class ShownAudit:
    """An audit with its share in each stage."""

    label: str
    meaning: str
    shares: Sequence[ShownShare]


@dataclass(frozen=True, slots=True)
class ShownList:
    """The cases of a check: their number by stage, and the first ones as (stage, published id, detail)."""

    label: str
    meaning: str
    counts: Sequence[tuple[str, int]]
    total: int
    cases: Sequence[tuple[str, str, str]]


@dataclass(frozen=True, slots=True)
class AuditPanel:
    """All that the panel shows. over: the audits over a limit, as labels. broken: checks of labels and sources."""

    is_audited: bool
    audits: Sequence[ShownAudit]
    lists: Sequence[ShownList]
    sources: Sequence[tuple[str, str]]
    frequent: Sequence[tuple[str, Mapping[str, Any]]]
    hubs: Sequence[tuple[str, Mapping[str, Any]]]
    over: Sequence[str]
    waiver: AuditWaiver | None
    min_reason: int = MIN_REASON_LENGTH
    max_reason: int = MAX_REASON_LENGTH
    chance: str = percent_text(CHANCE)


def audit_panel(question_set: QuestionSet) -> AuditPanel:
    """Return the panel of a set; without audits it only says so."""
    found: Mapping[str, Any] = question_set.audits
    limits = {(row["audit"], row["stage"]): row for row in found.get("limits", ())}
    over = audits_over_limit(question_set)
    return AuditPanel(
        is_audited=bool(found),
        audits=[
            ShownAudit(label, meaning, _shares(found[name], name, limits))
            for name, (label, meaning) in AUDIT_LABELS.items()
            if name in found
        ],
        lists=[_list(found[name], *labels) for name, labels in LIST_LABELS.items() if name in found],
        sources=[
            (STAGE_LABELS[stage], _describe_sources(row)) for stage, row in found.get("sources", {}).items()
        ],
        frequent=_rows_by_stage(found.get("frequent_texts", {})),
        hubs=_rows_by_stage(found.get("hubs", {})),
        over=[_over_label(name) for name in over],
        waiver=current_waiver(question_set) if over else None,
    )


def _shares(
    by_stage: Mapping[str, Mapping[str, Any]], audit: str, limits: Mapping[tuple[str, str], Mapping[str, Any]]
) -> list[ShownShare]:
    return [
        ShownShare(
            stage=STAGE_LABELS[stage],
            value=percent_text(by_stage[stage]["expected_on_ties"]),
            limit=_describe_limit(limits.get((audit, stage))),
            is_over=bool(limits.get((audit, stage), {}).get("is_over")),
            first=percent_text(by_stage[stage]["first_on_ties"]),
            among=percent_text(by_stage[stage]["gold_among_best"]),
            published=percent_text(by_stage[stage]["published"]) if "published" in by_stage[stage] else "",
            reason=by_stage[stage].get("reason", ""),
        )
        for stage in STAGE_LABELS
        if stage in by_stage
    ]


def _describe_limit(check: Mapping[str, Any] | None) -> str:
    if check is None:
        return ""
    high = percent_text(check["high"])
    return f"at most {high}" if check["low"] is None else f"{percent_text(check['low'])} to {high}"


def _list(by_stage: Mapping[str, Mapping[str, Any]], label: str, meaning: str) -> ShownList:
    counts = [(STAGE_LABELS[stage], row["count"]) for stage, row in by_stage.items()]
    cases = [
        (stage, case["annot_id"], f"choice {case['choice'] + 1}")
        for stage, row in by_stage.items()
        for case in row["cases"][:SHOWN_CASES]
    ]
    return ShownList(label, meaning, counts, sum(count for _, count in counts), cases)


def _describe_sources(row: Mapping[str, Any]) -> str:
    times: Mapping[str, int] = row["times"]
    exact = times.get("3", 0)
    fewer = sum(number for count, number in times.items() if int(count) < 3)  # noqa: PLR2004 - match rounds
    more = sum(times.values()) - exact - fewer
    parts = [f"{exact:,} are wrong exactly three times"]
    if fewer:
        parts.append(f"{fewer:,} less often, since other triplets were set aside")
    if more:
        parts.append(f"{more:,} more often")
    if row["misplaced"]["count"]:
        parts.append(f"{row['misplaced']['count']:,} right choices are not of their own triplet")
    return ", ".join(parts)


def _rows_by_stage(found: Mapping[str, Sequence[Mapping[str, Any]]]) -> list[tuple[str, Mapping[str, Any]]]:
    return [(STAGE_LABELS[stage], row) for stage, rows in found.items() for row in rows[:SHOWN_CASES]]


def _over_label(name: str) -> str:
    """Return the label of an audit over its limit, such as ``tag_overlap (answer)``."""
    audit, _, stage = name.removesuffix(")").partition(" (")
    label = AUDIT_LABELS.get(audit, (audit.capitalize(), ""))[0]
    return f"{label}, {STAGE_LABELS.get(stage, stage).lower()}"
