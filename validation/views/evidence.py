"""Evidence about a worker's answers: figures with their denominators, and the submissions behind them."""

from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass
from datetime import datetime
from typing import Any

from hits.domain.answers.text import shorten_text
from hits.models import Project, Worker
from validation.domain.judging.answer_quality import ALL_QUESTIONS, ALL_STATEMENTS
from validation.domain.judging.spec import JudgingSpec
from validation.models import WorkerQuality
from validation.registry import spec_of
from validation.selectors import quality

MAX_LINKS = 12  # links per row
MAX_QUOTE_LENGTH = 60  # characters of a quoted text
_ALL_COMPARED_NOTE = "pairs that copy no earlier text, exactly or nearly"
_EXACT_COMPARED_NOTE = (
    "newest pairs that copy no earlier text; near copies are searched only among the worker’s own texts"
)


@dataclass(frozen=True, slots=True)
class WorkerEvidenceRow:
    """One sort of evidence: ``count`` of ``total``, what is counted, and assignments as (label, primary key)."""

    name: str
    count: int
    total: int
    note: str
    links: Sequence[tuple[str, int]] = ()


@dataclass(frozen=True, slots=True)
class WorkerEvidenceSection:
    """The evidence from one kind of task, and when it was computed; ``None`` means now."""

    title: str
    kind: str
    at: datetime | None
    rows: Sequence[WorkerEvidenceRow]


def worker_evidence(worker: Worker, project: Project) -> list[WorkerEvidenceSection]:
    """Return the evidence about a worker's judgments and texts, without empty sections."""
    sections = [_judging_section(row) for row in quality.newest_worker_qualities(worker, project)]
    copies = quality.worker_pair_copies(worker, project)
    if copies.total:
        links = [(_describe_copy(pair), pair.assignment) for pair in copies.pairs[-MAX_LINKS:]]
        note = _ALL_COMPARED_NOTE if copies.near_copies_compared else _EXACT_COMPARED_NOTE
        row = WorkerEvidenceRow("Original texts", copies.total - len(copies.pairs), copies.total, note, links)
        sections.append(WorkerEvidenceSection("Observation pairs, written", "", None, [row]))
    return [section for section in sections if section.rows]


def _describe_copy(pair: quality.PairCopy) -> str:
    text = shorten_text(pair.inference, MAX_QUOTE_LENGTH)
    whose = "their own" if pair.is_own else "another worker’s"
    return f"{pair.assignment}: “{text}”, as in {whose} submission {pair.earlier_assignment}"


def _judging_section(row: WorkerQuality) -> WorkerEvidenceSection:
    kind = row.report.kind
    spec = spec_of(kind)
    rows = [entry for entry in _evidence_rows(spec, row.figures) if entry.total]
    return WorkerEvidenceSection(f"{spec.title}, judged", kind, row.report.computed_at, rows)


def _evidence_rows(spec: JudgingSpec, figures: Mapping[str, Any]) -> Iterator[WorkerEvidenceRow]:
    shown: Mapping[str, Any] = figures.get("shown", {})

    def build_row(name: str, key: str, note: str, links: Sequence[tuple[str, int]]) -> WorkerEvidenceRow:
        count, total = figures.get(key) or (0, 0)
        return WorkerEvidenceRow(name, count, total, note, links[-MAX_LINKS:])

    yield build_row(
        "Agreement", "agreement", "other workers’ labels on the same items that equal this worker’s", ()
    )
    for name, key, note in (
        ("Gold items", "gold", "items with a known answer, answered as expected"),
        ("Attention checks", "attention", "checks answered as expected"),
    ):
        yield build_row(name, key, note, [(str(pk), pk) for pk in shown.get(key, ())])
    repeats = [(f"{first} and {later}", later) for first, later in shown.get("repeat", ())]
    yield build_row("Repeats", "repeat", "labels that are the same when an item is repeated", repeats)
    limit = figures.get("limits", {}).get("pace_seconds")
    note = "judgments that took long enough" + (f": at least {limit:g} s of active time" if limit else "")
    fast = [(f"{pk}: {seconds:g} s", pk) for pk, seconds in shown.get("pace", ())]
    yield build_row("Pace", "pace", note, fast)
    runs = shown.get("varied", ())
    yield build_row("Variety", "varied", _describe_runs(spec, runs), _label_run_links(spec, runs))


def _describe_runs(spec: JudgingSpec, runs: Sequence[Mapping[str, Any]]) -> str:
    note = "judgments outside long runs of one answer"
    if not runs:
        return note
    longest = max(runs, key=lambda run: run["length"])
    share = f"{100 * longest['share']:.0f}%"
    longest_run = f"{longest['length']} × {_describe_label_run(spec, longest)}"
    return f"{note}; the longest run is {longest_run}; this answer is {share} of all answers"


def _label_run_links(spec: JudgingSpec, runs: Sequence[Mapping[str, Any]]) -> list[tuple[str, int]]:
    return [
        (
            f"{run['length']} × {_describe_label_run(spec, run)}, from submission {run['assignments'][0]}",
            run["assignments"][0],
        )
        for run in reversed(runs)
        if run["assignments"]
    ]


def _describe_label_run(spec: JudgingSpec, run: Mapping[str, Any]) -> str:
    name, label = run["dimension"], run["label"]
    if name.startswith(ALL_STATEMENTS):
        dimension = spec.dimension_of(name.rpartition(": ")[2]) if ": " in name else spec.dimensions[0]
        return f"every statement {dimension.label_text(label)}"
    if name == ALL_QUESTIONS:
        countable = [dimension for dimension in spec.dimensions if dimension.has_fixed_labels]
        labels = zip(countable, label.split(", "), strict=False)
        return ", ".join(dimension.label_text(label) for dimension, label in labels)
    return (
        f"“{spec.dimensions_by_name[name].label_text(label)}”"
        if name in spec.dimensions_by_name
        else f"“{label}”"
    )
