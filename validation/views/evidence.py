"""What a worker's page says about how they answer: figures with their whole, and the submissions behind them."""

from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass
from datetime import datetime
from typing import Any

from hits.models import Project, Worker
from validation.domain.judging.answer_quality import ALL_QUESTIONS, ALL_STATEMENTS
from validation.domain.judging.spec import JudgingSpec
from validation.models import WorkerQuality
from validation.registry import spec_of
from validation.selectors import quality

SHOWN = 12  # links in one line
LONGEST = 60  # characters of a quoted text
_ALL_COMPARED = "pairs that copy no earlier text, nearly or not"
_SAME_WORDS_COMPARED = (
    "of the newest pairs; they copy none of their own, nearly or not, and nobody else’s word for word"
)


@dataclass(frozen=True, slots=True)
class Line:
    """One sort of evidence: so many of so many, what that means, and the assignments behind it as (words, key)."""

    name: str
    count: int
    of: int
    note: str
    links: Sequence[tuple[str, int]] = ()


@dataclass(frozen=True, slots=True)
class Section:
    """The evidence of one kind of task, and when it was computed; ``None`` is now."""

    title: str
    kind: str
    at: datetime | None
    lines: Sequence[Line]


def evidence_of(worker: Worker, project: Project) -> list[Section]:
    """Return the evidence about a worker's judgments and texts; sections without any are left out."""
    sections = [_section(row) for row in quality.reports_on(worker, project)]
    copies = quality.copies_of(worker, project)
    if copies.of:
        links = [(_copied(pair), pair.assignment) for pair in copies.pairs[-SHOWN:]]
        note = _ALL_COMPARED if copies.nearly else _SAME_WORDS_COMPARED
        line = Line("Written anew", copies.of - len(copies.pairs), copies.of, note, links)
        sections.append(Section("Observation pairs, written", "", None, [line]))
    return [section for section in sections if section.lines]


def _copied(pair: quality.CopiedPair) -> str:
    text = pair.inference if len(pair.inference) <= LONGEST else f"{pair.inference[: LONGEST - 1]}…"
    return f"{pair.assignment}: “{text}”, as in {'their own' if pair.is_own else 'another worker’s'} {pair.earlier}"


def _section(row: WorkerQuality) -> Section:
    kind = row.report.kind
    spec = spec_of(kind)
    lines = [line for line in _lines(spec, row.figures) if line.of]
    return Section(f"{spec.title}, judged", kind, row.report.computed_at, lines)


def _lines(spec: JudgingSpec, figures: Mapping[str, Any]) -> Iterator[Line]:
    shown: Mapping[str, Any] = figures.get("shown", {})

    def line(name: str, key: str, note: str, links: Sequence[tuple[str, int]]) -> Line:
        count, of = figures.get(key) or (0, 0)
        return Line(name, count, of, note, links[-SHOWN:])

    yield line("Agreement", "agreement", "labels by others on the same items that are the same", ())
    yield line("Gold", "gold", "units with a known answer, answered so", _plain(shown.get("gold", ())))
    yield line("Attention", "attention", "checks answered as expected", _plain(shown.get("attention", ())))
    repeats = [(f"{first} and {later}", later) for first, later in shown.get("repeat", ())]
    yield line("Repeats", "repeat", "answers given again when the same unit came back", repeats)
    limit = figures.get("limits", {}).get("pace_seconds")
    note = "judgments that took long enough" + (f": at least {limit:g} s of active time" if limit else "")
    yield line("Pace", "pace", note, [(f"{pk}: {seconds:g} s", pk) for pk, seconds in shown.get("pace", ())])
    yield line(
        "Variety", "varied", _runs_note(spec, shown.get("varied", ())), _runs(spec, shown.get("varied", ()))
    )


def _plain(keys: Sequence[int]) -> list[tuple[str, int]]:
    return [(str(key), key) for key in keys]


def _runs_note(spec: JudgingSpec, runs: Sequence[Mapping[str, Any]]) -> str:
    note = "judgments outside long runs of one answer"
    if not runs:
        return note
    longest = max(runs, key=lambda run: run["length"])
    share = f"{100 * longest['share']:.0f}%"
    said = f"{longest['length']} × {_label(spec, longest)}"
    return f"{note}; the longest is {said}, an answer given in {share} of cases"


def _runs(spec: JudgingSpec, runs: Sequence[Mapping[str, Any]]) -> list[tuple[str, int]]:
    return [
        (
            f"{run['length']} × {_label(spec, run)}, from submission {run['assignments'][0]}",
            run["assignments"][0],
        )
        for run in reversed(runs)
        if run["assignments"]
    ]


def _label(spec: JudgingSpec, run: Mapping[str, Any]) -> str:
    name, label = run["dimension"], run["label"]
    if name.startswith(ALL_STATEMENTS):
        about = spec.dimension_of(name.rpartition(": ")[2]) if ": " in name else spec.dimensions[0]
        return f"every statement {about.label_words(label)}"
    if name == ALL_QUESTIONS:
        countable = [one for one in spec.dimensions if one.is_fixed]
        words = zip(countable, label.split(", "), strict=False)
        return ", ".join(one.label_words(word) for one, word in words)
    return f"“{spec.by_name[name].label_words(label)}”" if name in spec.by_name else f"“{label}”"
