"""Parts of audit pages: questions with what was answered, figures with their plots, differences to discuss."""

from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from typing import Any

from curation.audits.answers import chosen_values
from curation.audits.codebook import YES, Choice, Code, Codebook, CodeKind, ShownText
from curation.audits.figures import AgreementFigures, CodeFigures, LabelledItem, Share, ValueFigures
from curation.audits.labels import ItemState
from curation.models import AuditItem
from curation.views.report_sections import Cell, Section, Table
from hits.charts.coefficients import coefficient, heat_table
from hits.charts.scale import decimals, percent_text
from hits.charts.strips import share_strip
from hits.domain.images.image_facts import ImageFacts
from hits.selectors.images.images import image_facts

PREFIX = "code-"


@dataclass(frozen=True, slots=True)
class Shown:
    """A pair as readers see it; a text that the codebook keeps from them is empty."""

    image: ImageFacts
    boxes: Sequence[Mapping[str, int]]
    clue: str
    inference: str


@dataclass(frozen=True, slots=True)
class Question:
    """One code on a page: its choices with whether each is chosen, what is wrong, and its readers' answers."""

    code: Code
    choices: Sequence[tuple[Choice, bool]]
    error: str = ""
    reader_answers: Sequence[tuple[str, str]] = ()

    @property
    def field(self) -> str:
        """The name of its form field."""
        return f"{PREFIX}{self.code.id}"

    @property
    def is_multiple(self) -> bool:
        """Whether several choices may be ticked."""
        return self.code.kind is CodeKind.MULTIPLE

    @property
    def asked_field(self) -> str:
        """The field that decides whether this is asked; empty when it always is."""
        condition = self.code.asked_when
        return f"{PREFIX}{condition.code}" if condition else ""

    @property
    def asked_values(self) -> str:
        """The values of that field with which this is asked, between spaces."""
        condition = self.code.asked_when
        return " ".join(condition.values) if condition else ""


def shown(item: AuditItem, codebook: Codebook) -> Shown:
    """Return a pair as the codebook lets readers see it."""
    pair = item.observation
    return Shown(
        image=image_facts(pair.image),
        boxes=pair.boxes,
        clue="" if codebook.shows is ShownText.INFERENCE else pair.clue,
        inference="" if codebook.shows is ShownText.CLUE else pair.inference,
    )


def given_in(post: Any, codebook: Codebook) -> dict[str, list[str]]:
    """Return what a form gave for each code."""
    return {code.id: post.getlist(f"{PREFIX}{code.id}") for code in codebook.codes}


def questions(
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
        (str(reader), _words(code, label.codes))
        for reader, label in sorted(item.labels.counted.items(), key=lambda row: str(row[0]))
    ]


def _words(code: Code, answers: Mapping[str, Any]) -> str:
    return ", ".join(code.value_label(value) for value in chosen_values(answers, code.id)) or "not asked"


@dataclass(frozen=True, slots=True)
class Difference:
    """A pair on which readers differ, or which was settled: each reader's answer to each code in question."""

    item: LabelledItem
    pair: Shown
    codes: Sequence[tuple[Code, Sequence[tuple[str, str]], str]]
    notes: Sequence[tuple[str, str]]
    is_settled: bool


def in_question(items: Sequence[LabelledItem], codebook: Codebook) -> list[LabelledItem]:
    """Return the pairs to discuss in the order of the sample, and behind them those that were settled."""
    state = {item.position: item.labels.state(codebook) for item in items}
    return [item for item in items if state[item.position] is ItemState.DIFFERS] + [
        item for item in items if state[item.position] is ItemState.SETTLED
    ]


def differences(
    items: Sequence[LabelledItem], rows: Mapping[int, AuditItem], codebook: Codebook
) -> list[Difference]:
    """Return pairs in question with their photos; ``rows`` has the item of each place."""
    return [_difference(item, rows[item.position], codebook) for item in items if item.position in rows]


def _difference(item: LabelledItem, row: AuditItem, codebook: Codebook) -> Difference:
    labels = item.labels
    settled = labels.settlement.codes if labels.settlement else {}
    codes = []
    for code in codebook.codes:
        reader_answers = _answers_by_reader(code, item)
        if len({words for _, words in reader_answers}) > 1:
            codes.append((code, reader_answers, _words(code, settled) if settled else ""))
    notes = [(str(reader), label.note) for reader, label in labels.counted.items() if label.note]
    if labels.settlement is not None and labels.settlement.note:
        notes.append(("Settled", labels.settlement.note))
    return Difference(item, shown(row, codebook), codes, notes, labels.settlement is not None)


def code_sections(found: Sequence[CodeFigures]) -> list[Section]:
    """Return the figures of an audit, a section for each question of its codebook."""
    return [_code_section(row) for row in found]


def _code_section(row: CodeFigures) -> Section:
    to_discuss = f", {row.differing:,} to discuss" if row.differing else ""
    tables: list[Table] = []
    facts_: list[tuple[str, str]] = []
    for agreement in row.agreement:
        if agreement.percent.items:
            facts_ += _agreement_facts(row.code, agreement)
            tables += _confusion_table(row.code, agreement)
    return Section(
        row.code.question,
        note=f"{row.agreed:,} pairs with an agreed answer{to_discuss}",
        tables=[_share_table(row), *tables] if row.agreed else [],
        facts=facts_,
        empty=("", "")
        if row.agreed
        else ("No answer yet", "No complete pair has an agreed answer to this question."),
    )


def _share_table(row: CodeFigures) -> Table:
    rows: list[list[Cell]] = []
    for value in row.values:
        rows.append(_share_row(value))
        notes = [f"Paper: {one.words}" for one in value.published]
        if len(value.by_split) > 1:
            notes.append(" · ".join(_split_share(split, share) for split, share in value.by_split.items()))
        rows += [[Cell(note=note, span=4, kind="beneath")] for note in notes]
    headings, caption = ("Answer", "Pairs", "", "Share"), "Pairs with each answer"
    return Table(headings, rows, (1, 3), caption=caption, kind="shares")


def _share_row(value: ValueFigures) -> list[Cell]:
    interval, share = value.overall.interval, value.overall.share or 0.0
    reach = f"{percent_text(interval.low)} to {percent_text(interval.high)}" if interval else ""
    strip = share_strip(
        share,
        low=interval.low if interval else None,
        high=interval.high if interval else None,
        marks=[one.count / one.of for one in value.published[:1] if one.count is not None and one.of],
        summary=f"{percent_text(share)}, 95% interval {reach}" if reach else percent_text(share),
    )
    return [
        Cell(value.label, is_heading=True),
        Cell(f"{value.overall.count:,}", note=f"of {value.overall.total:,}"),
        Cell(chart=strip, kind="plot"),
        Cell(percent_text(value.overall.share), note=reach),
    ]


def _split_share(split: str, share: Share) -> str:
    interval = share.interval
    reach = f" ({percent_text(interval.low)} to {percent_text(interval.high)})" if interval else ""
    return f"{split or 'no split'} {share.count} of {share.total}{reach}"


def _agreement_facts(code: Code, row: AgreementFigures) -> list[tuple[str, str]]:
    of = f" on “{code.value_label(row.choice)}”" if row.choice else ""
    same = f"{percent_text(row.percent.value)} of {row.percent.items:,} pairs"
    found = [(f"Same answer{of}", same)]
    if row.cohen and row.reader_pair:
        kappa = _coefficient(row.cohen.kappa, row.cohen.low, row.cohen.high)
        found.append((f"Cohen’s κ{of}, {row.reader_pair[0]} and {row.reader_pair[1]}", kappa))
    found.append((f"Krippendorff’s α{of}", _coefficient(row.alpha.value, row.alpha.low, row.alpha.high)))
    return found


def _coefficient(value: float | None, low: float | None, high: float | None) -> str:
    """Return ``0.712 (0.61 to 0.81, substantial)``."""
    found = coefficient(value, low, high)
    if found is None or value is None:
        return "undefined: all answers are the same"
    reach = f"{decimals(low, 2)} to {decimals(high, 2)}, " if low is not None and high is not None else ""
    return f"{decimals(value, 3)} ({reach}{found.band})"


def _confusion_table(code: Code, row: AgreementFigures) -> list[Table]:
    """Return the confusion table of two readers; labels that nobody gave are left out."""
    if row.table is None or row.reader_pair is None:
        return []
    used = [at for at in range(len(row.labels)) if row.table[at].any() or row.table[:, at].any()]
    if len(used) == 1:
        return []  # the facts say already that all answers are the same
    labels = [_label(code, row, at) for at in used]
    counts = row.table[used][:, used].tolist()
    rows = [
        [
            Cell(label, is_heading=True),
            *(
                Cell(str(count), kind=f"heat-{cell.heat}{' alike' if cell.alike else ''}")
                for cell, count in zip(cells, line, strict=True)
            ),
        ]
        for (label, cells), line in zip(heat_table(counts, labels, {}), counts, strict=True)
    ]
    title = f"Answers of {row.reader_pair[0]} (rows) and {row.reader_pair[1]} (columns)"
    return [Table(("", *labels), rows, kind="heat confusion", title=title, caption=title)]


def _label(code: Code, row: AgreementFigures, at: int) -> str:
    if row.choice is None:
        return code.value_label(row.labels[at])
    return "Ticked" if row.labels[at] == YES else "Not ticked"
