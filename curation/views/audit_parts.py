"""Sections of audit pages: questions with answers, figures with plots, and disagreements to discuss."""

from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from typing import Any

from curation.audits.answers import chosen_values
from curation.audits.codebook import YES, Choice, Code, Codebook, CodeKind, ShownText
from curation.audits.figures import AgreementFigures, CodeFigures, LabelledItem, Share, ValueFigures
from curation.audits.labels import ItemState
from curation.models import AuditItem
from curation.views.report_sections import Cell, Section, Table
from hits.charts.coefficients import coefficient_strip, heat_table
from hits.charts.scale import decimal_text, percent_text
from hits.charts.strips import share_strip
from hits.domain.images.image_facts import ImageFacts
from hits.selectors.images.images import image_facts

FIELD_PREFIX = "code-"


@dataclass(frozen=True, slots=True)
class ShownPair:
    """A pair as readers see it; a text that the codebook hides from them is empty."""

    image: ImageFacts
    boxes: Sequence[Mapping[str, int]]
    clue: str
    inference: str


@dataclass(frozen=True, slots=True)
class Question:
    """One code on a page: its choices (each with whether it is selected), its error, and its readers' answers."""

    code: Code
    choices: Sequence[tuple[Choice, bool]]
    error: str = ""
    reader_answers: Sequence[tuple[str, str]] = ()

    @property
    def field(self) -> str:
        """The name of its form field."""
        return f"{FIELD_PREFIX}{self.code.id}"

    @property
    def is_multiple(self) -> bool:
        """Whether several choices may be ticked."""
        return self.code.kind is CodeKind.MULTIPLE

    @property
    def condition_field(self) -> str:
        """The form field that decides whether this question is asked; empty if it always is."""
        condition = self.code.asked_when
        return f"{FIELD_PREFIX}{condition.code}" if condition else ""

    @property
    def condition_values(self) -> str:
        """The values of ``condition_field`` for which this question is asked, separated by spaces."""
        condition = self.code.asked_when
        return " ".join(condition.values) if condition else ""


def make_shown_pair(item: AuditItem, codebook: Codebook) -> ShownPair:
    """Return a pair as the codebook lets readers see it."""
    pair = item.observation
    return ShownPair(
        image=image_facts(pair.image),
        boxes=pair.boxes,
        clue="" if codebook.shows is ShownText.INFERENCE else pair.clue,
        inference="" if codebook.shows is ShownText.CLUE else pair.inference,
    )


def posted_answers(post: Any, codebook: Codebook) -> dict[str, list[str]]:
    """Return the posted values of each code."""
    return {code.id: post.getlist(f"{FIELD_PREFIX}{code.id}") for code in codebook.codes}


def make_questions(
    codebook: Codebook,
    answers: Mapping[str, Any],
    errors: Mapping[str, str],
    item: LabelledItem | None = None,
) -> list[Question]:
    """Return the questions of a page; with ``item`` also its readers' answers."""
    return [
        Question(
            code=code,
            choices=[(choice, choice.value in chosen_values(answers, code.id)) for choice in code.choices],
            error=errors.get(code.id, ""),
            reader_answers=_answers_by_reader(code, item) if item else (),
        )
        for code in codebook.codes
    ]


def _answers_by_reader(code: Code, item: LabelledItem) -> list[tuple[str, str]]:
    return [
        (str(reader), _answer_label(code, label.code_answers))
        for reader, label in sorted(item.labels.counted.items(), key=lambda row: str(row[0]))
    ]


def _answer_label(code: Code, answers: Mapping[str, Any]) -> str:
    return ", ".join(code.value_label(value) for value in chosen_values(answers, code.id)) or "not asked"


@dataclass(frozen=True, slots=True)
class Disagreement:
    """A pair on which readers differ or differed before it was settled, with their answers to each such code."""

    item: LabelledItem
    pair: ShownPair
    codes: Sequence[tuple[Code, Sequence[tuple[str, str]], str]]
    notes: Sequence[tuple[str, str]]
    is_settled: bool


def items_with_disagreement(items: Sequence[LabelledItem], codebook: Codebook) -> list[LabelledItem]:
    """Return the pairs to discuss in the order of the sample, followed by the settled ones."""
    state = {item.position: item.labels.state(codebook) for item in items}
    return [item for item in items if state[item.position] is ItemState.DIFFERS] + [
        item for item in items if state[item.position] is ItemState.SETTLED
    ]


def make_disagreements(
    items: Sequence[LabelledItem], rows: Mapping[int, AuditItem], codebook: Codebook
) -> list[Disagreement]:
    """Return the disagreements about some pairs with their photos; ``rows`` are items by position."""
    return [
        _make_disagreement(item, rows[item.position], codebook) for item in items if item.position in rows
    ]


def _make_disagreement(item: LabelledItem, row: AuditItem, codebook: Codebook) -> Disagreement:
    labels = item.labels
    settled = labels.settlement.code_answers if labels.settlement else {}
    codes = []
    for code in codebook.codes:
        reader_answers = _answers_by_reader(code, item)
        if len({label for _, label in reader_answers}) > 1:
            codes.append((code, reader_answers, _answer_label(code, settled) if settled else ""))
    notes = [(str(reader), label.note) for reader, label in labels.counted.items() if label.note]
    if labels.settlement is not None and labels.settlement.note:
        notes.append(("Settled", labels.settlement.note))
    return Disagreement(item, make_shown_pair(row, codebook), codes, notes, labels.settlement is not None)


def code_sections(code_figures: Sequence[CodeFigures]) -> list[Section]:
    """Return the sections with an audit's figures, one for each question of its codebook."""
    return [_code_section(row) for row in code_figures]


def _code_section(row: CodeFigures) -> Section:
    to_discuss = f", {row.differing:,} to discuss" if row.differing else ""
    tables: list[Table] = []
    agreement_facts: list[tuple[str, str]] = []
    for agreement in row.agreement:
        if agreement.percent.items:
            agreement_facts += _agreement_facts(row.code, agreement)
            tables += _confusion_table_if_any(row.code, agreement)
    return Section(
        row.code.question,
        note=f"{row.agreed:,} pairs with an agreed answer{to_discuss}",
        tables=[_share_table(row), *tables] if row.agreed else [],
        facts=agreement_facts,
        empty=("", "")
        if row.agreed
        else ("No answer yet", "No complete pair has an agreed answer to this question."),
    )


def _share_table(row: CodeFigures) -> Table:
    rows: list[list[Cell]] = []
    for value in row.values:
        rows.append(_share_row(value))
        notes = [f"Published: {one.words}" for one in value.published]
        if len(value.by_split) > 1:
            notes.append(" · ".join(_format_share(split, share) for split, share in value.by_split.items()))
        rows += [[Cell(note=note, span=4, kind="beneath")] for note in notes]
    headings, caption = ("Answer", "Pairs", "", "Share"), "Pairs with each answer"
    return Table(headings, rows, (1, 3), caption=caption, kind="shares")


def _share_row(value: ValueFigures) -> list[Cell]:
    interval, share = value.overall.interval, value.overall.share or 0.0
    interval_text = f"{percent_text(interval.low)} to {percent_text(interval.high)}" if interval else ""
    strip = share_strip(
        share,
        low=interval.low if interval else None,
        high=interval.high if interval else None,
        references=[one.count / one.of for one in value.published[:1] if one.count is not None and one.of],
        summary=f"{percent_text(share)}, 95% interval {interval_text}"
        if interval_text
        else percent_text(share),
    )
    return [
        Cell(value.label, is_heading=True),
        Cell(f"{value.overall.count:,}", note=f"of {value.overall.total:,}"),
        Cell(chart=strip, kind="plot"),
        Cell(percent_text(value.overall.share), note=interval_text),
    ]


def _format_share(split: str, share: Share) -> str:
    interval = share.interval
    interval_text = f" ({percent_text(interval.low)} to {percent_text(interval.high)})" if interval else ""
    return f"{split or 'no split'} {share.count} of {share.total}{interval_text}"


def _agreement_facts(code: Code, row: AgreementFigures) -> list[tuple[str, str]]:
    of = f" on “{code.value_label(row.choice)}”" if row.choice else ""
    same = f"{percent_text(row.percent.value)} of {row.percent.items:,} pairs"
    found = [(f"Same answer{of}", same)]
    if row.cohen and row.reader_pair:
        kappa = _coefficient_text(row.cohen.kappa, row.cohen.low, row.cohen.high)
        found.append((f"Cohen’s κ{of}, {row.reader_pair[0]} and {row.reader_pair[1]}", kappa))
    found.append((f"Krippendorff’s α{of}", _coefficient_text(row.alpha.value, row.alpha.low, row.alpha.high)))
    return found


def _coefficient_text(value: float | None, low: float | None, high: float | None) -> str:
    """Return ``0.712 (0.61 to 0.81, substantial)``."""
    found = coefficient_strip(value, low, high)
    if found is None or value is None:
        return "undefined: all answers are the same"
    interval_text = (
        f"{decimal_text(low, 2)} to {decimal_text(high, 2)}, " if low is not None and high is not None else ""
    )
    return f"{decimal_text(value, 3)} ({interval_text}{found.band})"


def _confusion_table_if_any(code: Code, row: AgreementFigures) -> list[Table]:
    """Return the confusion table of two readers; labels that nobody gave are left out."""
    if row.table is None or row.reader_pair is None:
        return []
    used = [at for at in range(len(row.labels)) if row.table[at].any() or row.table[:, at].any()]
    if len(used) == 1:
        return []  # the agreement facts state that all answers are the same
    labels = [_confusion_label(code, row, at) for at in used]
    counts = row.table[used][:, used].tolist()
    rows = [
        [
            Cell(label, is_heading=True),
            *(
                Cell(str(count), kind=f"heat-{cell.heat}{' alike' if cell.is_agreement else ''}")
                for cell, count in zip(cells, line, strict=True)
            ),
        ]
        for (label, cells), line in zip(heat_table(counts, labels, {}), counts, strict=True)
    ]
    title = f"Answers of {row.reader_pair[0]} (rows) and {row.reader_pair[1]} (columns)"
    return [Table(("", *labels), rows, kind="heat confusion", title=title, caption=title)]


def _confusion_label(code: Code, row: AgreementFigures, at: int) -> str:
    if row.choice is None:
        return code.value_label(row.labels[at])
    return "Ticked" if row.labels[at] == YES else "Not ticked"
