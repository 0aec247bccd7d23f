"""Parts of audit pages: questions with what was answered, figures with their plots, differences to discuss."""

from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from typing import Any

from curation.audits.answers import chosen
from curation.audits.codebook import YES, Choice, Code, Codebook, CodeKind, Shows
from curation.audits.figures import AgreementFigures, CodeFigures, ReadItem, Share, ValueFigures
from curation.audits.readings import ItemState
from curation.models import AuditItem
from hits.domain.images.image_facts import ImageFacts
from hits.selectors.images.images import facts
from validation.domain.reports import plots

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
    """One code on a page: its choices with whether each is chosen, what is wrong, and what readers said of it."""

    code: Code
    choices: Sequence[tuple[Choice, bool]]
    error: str = ""
    said: Sequence[tuple[str, str]] = ()

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
        image=facts(pair.image),
        boxes=pair.boxes,
        clue="" if codebook.shows is Shows.INFERENCE else pair.clue,
        inference="" if codebook.shows is Shows.CLUE else pair.inference,
    )


def given_in(post: Any, codebook: Codebook) -> dict[str, list[str]]:
    """Return what a form gave for each code."""
    return {code.id: post.getlist(f"{PREFIX}{code.id}") for code in codebook.codes}


def questions(
    codebook: Codebook,
    answers: Mapping[str, Any],
    wrong: Mapping[str, str],
    item: ReadItem | None = None,
) -> list[Question]:
    """Return the questions of a page; with ``item`` also what its readers said."""
    return [
        Question(
            code=code,
            choices=[(choice, choice.value in chosen(answers, code.id)) for choice in code.choices],
            error=wrong.get(code.id, ""),
            said=_said(code, item) if item else (),
        )
        for code in codebook.codes
    ]


def _said(code: Code, item: ReadItem) -> list[tuple[str, str]]:
    return [
        (str(reader), _words(code, reading.codes))
        for reader, reading in sorted(item.readings.standing.items(), key=lambda row: str(row[0]))
    ]


def _words(code: Code, answers: Mapping[str, Any]) -> str:
    return ", ".join(code.words_of(value) for value in chosen(answers, code.id)) or "not asked"


@dataclass(frozen=True, slots=True)
class Difference:
    """A pair on which readers differ, or which was settled: what each said of each code in question."""

    item: ReadItem
    pair: Shown
    codes: Sequence[tuple[Code, Sequence[tuple[str, str]], str]]
    notes: Sequence[tuple[str, str]]
    is_settled: bool


def in_question(items: Sequence[ReadItem], codebook: Codebook) -> list[ReadItem]:
    """Return the pairs to discuss in the order of the sample, and behind them those that were settled."""
    state = {item.place: item.readings.state(codebook) for item in items}
    return [item for item in items if state[item.place] is ItemState.DIFFERS] + [
        item for item in items if state[item.place] is ItemState.SETTLED
    ]


def differences(
    items: Sequence[ReadItem], rows: Mapping[int, AuditItem], codebook: Codebook
) -> list[Difference]:
    """Return pairs in question with their photos; ``rows`` has the item of each place."""
    return [_difference(item, rows[item.place], codebook) for item in items if item.place in rows]


def _difference(item: ReadItem, row: AuditItem, codebook: Codebook) -> Difference:
    readings = item.readings
    settled = readings.settling.codes if readings.settling else {}
    codes = []
    for code in codebook.codes:
        said = _said(code, item)
        if len({words for _, words in said}) > 1:
            codes.append((code, said, _words(code, settled) if settled else ""))
    notes = [(str(reader), reading.note) for reader, reading in readings.standing.items() if reading.note]
    if readings.settling is not None and readings.settling.note:
        notes.append(("Settled", readings.settling.note))
    return Difference(item, shown(row, codebook), codes, notes, readings.settling is not None)


@dataclass(frozen=True, slots=True)
class Bar:
    """A share as drawn, places in percent of the width; ``published`` is where the paper's figure lies."""

    figure: ValueFigures
    width: str
    low: str
    high: str
    published: str
    splits: Sequence[tuple[str, Share]]


@dataclass(frozen=True, slots=True)
class AgreementPart:
    """One row of agreement: its words, the coefficients' dots, and the table of two readers if there is one."""

    words: str
    figures: AgreementFigures
    alpha: plots.Dot | None
    kappa: plots.Dot | None
    table: Sequence[tuple[str, Sequence[tuple[int, int, bool]]]]

    @property
    def columns(self) -> list[str]:
        """The labels across the table."""
        return [word for word, _ in self.table]


@dataclass(frozen=True, slots=True)
class CodePart:
    """One code's section on the page of results."""

    code: Code
    of: int
    open: int
    bars: Sequence[Bar]
    agreement: Sequence[AgreementPart]


def code_parts(found: Sequence[CodeFigures]) -> list[CodePart]:
    """Return the figures of an audit as its page draws them."""
    return [
        CodePart(
            code=row.code,
            of=row.of,
            open=row.open,
            bars=[_bar(value) for value in row.values],
            agreement=[_agreement(row.code, agreement) for agreement in row.agreement],
        )
        for row in found
    ]


def _bar(value: ValueFigures) -> Bar:
    interval = value.total.interval
    published = next((one for one in value.published if one.count is not None and one.of), None)
    return Bar(
        figure=value,
        width=_percent(value.total.share or 0.0),
        low=_percent(interval.low) if interval else "",
        high=_percent(interval.high) if interval else "",
        published=_percent((published.count or 0) / (published.of or 1)) if published else "",
        splits=list(value.by_split.items()),
    )


def _agreement(code: Code, row: AgreementFigures) -> AgreementPart:
    cohen = row.cohen
    return AgreementPart(
        words=code.words_of(row.choice) if row.choice else "",
        figures=row,
        alpha=plots.dot(row.alpha.value, row.alpha.low, row.alpha.high),
        kappa=plots.dot(cohen.kappa, cohen.low, cohen.high) if cohen else None,
        table=_table(code, row),
    )


def _table(code: Code, row: AgreementFigures) -> list[tuple[str, list[tuple[int, int, bool]]]]:
    """Return the confusion table as (label, [(count, heat 0 to 9, alike)]); labels that nobody gave are left out."""
    if row.table is None:
        return []
    used = [at for at in range(len(row.labels)) if row.table[at].any() or row.table[:, at].any()]
    if len(used) == 1:
        return []  # one answer throughout has been said in words
    labels = [_label(code, row, at) for at in used]
    counts = row.table[used][:, used].tolist()
    heat = plots.heat(counts, labels, {})
    return [
        (word, [(count, cell.heat, cell.alike) for count, cell in zip(line, cells, strict=True)])
        for (word, cells), line in zip(heat, counts, strict=True)
    ]


def _label(code: Code, row: AgreementFigures, at: int) -> str:
    if row.choice is None:
        return code.words_of(row.labels[at])
    return "Ticked" if row.labels[at] == YES else "Not ticked"


def _percent(share: float) -> str:
    return f"{100 * share:.2f}%"
