"""The figures of an audit: how many pairs have each value, with intervals, and how far readers agree.

Shares are of agreed values, with Wilson's interval (``validation.domain.reports.planner``) where pairs were drawn
at random: in all for a random sample, within a split also for a sample of each split. Pairs chosen by a score
speak for themselves alone.

Agreement is of blind readings (``readings``): percent and Krippendorff's alpha, and Cohen's kappa where the same two
people read all (``validation.domain.agreement``). Each choice of a code with several choices is a question of its
own.
"""

from collections.abc import Hashable, Mapping, Sequence
from dataclasses import dataclass

import numpy as np

from curation.audits.answers import chosen
from curation.audits.codebook import NO, YES, Code, Codebook, CodeKind, Published
from curation.audits.readings import ItemReadings, ItemState
from curation.audits.sampling import How
from validation.domain.agreement.agreement import (
    Agreement,
    Coefficient,
    Statistic,
    coefficients,
    cohen,
    confusion,
)
from validation.domain.judging.ratings import IntArray, RatingTable
from validation.domain.reports.planner import Interval, score_interval

TWO = 2


@dataclass(frozen=True, slots=True)
class ReadItem:
    """One pair of the sample, by its published id, with its readings. ``place`` is that of the sample, from 1."""

    key: str
    place: int
    split: str
    score: float | None
    readings: ItemReadings


@dataclass(frozen=True, slots=True)
class Share:
    """How many of the pairs with an agreed answer have one value; ``interval`` where they were drawn by lot."""

    count: int
    of: int
    interval: Interval | None

    @property
    def share(self) -> float | None:
        """The share, 0 to 1, or ``None`` of nothing."""
        return self.count / self.of if self.of else None


@dataclass(frozen=True, slots=True)
class ValueFigures:
    """One value of a code: in all, by split, and what was published of it."""

    value: str
    words: str
    total: Share
    by_split: Mapping[str, Share]
    published: tuple[Published, ...]


@dataclass(frozen=True, slots=True)
class AgreementFigures:
    """How far readers agree on one question, blind.

    ``choice`` is set where the question is whether that choice was ticked. ``cohen`` and ``table`` (labels, labels),
    the first of ``pair`` in rows, are there where two people read all.
    """

    choice: str | None
    labels: tuple[str, ...]
    percent: Coefficient
    alpha: Coefficient
    cohen: Agreement | None
    table: IntArray | None
    pair: tuple[Hashable, Hashable] | None


@dataclass(frozen=True, slots=True)
class CodeFigures:
    """One code: its values, how many pairs have an agreed answer, and on how many the readers differ still."""

    code: Code
    values: tuple[ValueFigures, ...]
    of: int
    open: int
    agreement: tuple[AgreementFigures, ...]


def by_state(items: Sequence[ReadItem], codebook: Codebook) -> dict[ItemState, int]:
    """Return how many pairs are how far."""
    states = [item.readings.state(codebook) for item in items]
    return {state: states.count(state) for state in ItemState}


def figures(
    items: Sequence[ReadItem], codebook: Codebook, *, how: How, rng: np.random.Generator
) -> list[CodeFigures]:
    """Return the figures of every code, over the complete pairs.

    Args:
        how: how the pairs were chosen, which says where an interval makes sense. rng: draws the bootstrap's items.
    """
    done = [item for item in items if item.readings.is_complete]
    agreed = [(item.split, item.readings.agreed(codebook)) for item in done]
    differing = [item.readings.differing(codebook) for item in done]
    return [
        CodeFigures(
            code=code,
            values=tuple(_value(code, value, agreed, codebook, how) for value in code.values),
            of=sum(code.id in answers for _, answers in agreed),
            open=sum(code.id in codes for codes in differing),
            agreement=tuple(_agreements(code, done, rng)),
        )
        for code in codebook.codes
    ]


_Agreed = Sequence[tuple[str, Mapping[str, object]]]


def _value(code: Code, value: str, agreed: _Agreed, codebook: Codebook, how: How) -> ValueFigures:
    of_split: dict[str, list[tuple[str, Mapping[str, object]]]] = {}
    for row in agreed:
        of_split.setdefault(row[0], []).append(row)
    in_all, within = how is How.RANDOM, how is not How.TOP
    return ValueFigures(
        value=value,
        words=code.words_of(value),
        total=_share(code.id, value, agreed, by_lot=in_all),
        by_split={
            split: _share(code.id, value, rows, by_lot=within) for split, rows in sorted(of_split.items())
        },
        published=tuple(
            figure for figure in codebook.published if (figure.code, figure.value) == (code.id, value)
        ),
    )


def _share(code: str, value: str, agreed: _Agreed, *, by_lot: bool) -> Share:
    answered = [answers for _, answers in agreed if code in answers]
    count = sum(value in chosen(answers, code) for answers in answered)
    of = len(answered)
    return Share(count, of, score_interval(of, count / of) if by_lot and of else None)


def _agreements(code: Code, done: Sequence[ReadItem], rng: np.random.Generator) -> list[AgreementFigures]:
    if code.kind is CodeKind.MULTIPLE:
        return [_agreement(_ticked(code, value, done), value, rng) for value in code.values]
    rows = [(key, reader, values[0]) for key, reader, values in _said(code, done)]
    return [_agreement(RatingTable.of(rows, code.values), None, rng)]


def _ticked(code: Code, value: str, done: Sequence[ReadItem]) -> RatingTable:
    rows = [(key, reader, YES if value in values else NO) for key, reader, values in _said(code, done)]
    return RatingTable.of(rows, (YES, NO))


def _said(code: Code, done: Sequence[ReadItem]) -> list[tuple[Hashable, Hashable, list[str]]]:
    """Return (pair, reader, values) of the blind answers to a code, where it was asked."""
    return [
        (item.key, reader, values)
        for item in done
        for reader, reading in item.readings.blind.items()
        if (values := chosen(reading.codes, code.id))
    ]


def _agreement(table: RatingTable, choice: str | None, rng: np.random.Generator) -> AgreementFigures:
    found = coefficients(table, [Statistic.PERCENT, Statistic.ALPHA_NOMINAL], rng=rng)
    pair = _the_two(table)
    return AgreementFigures(
        choice=choice,
        labels=tuple(str(label) for label in table.scale),
        percent=found[Statistic.PERCENT],
        alpha=found[Statistic.ALPHA_NOMINAL],
        cohen=cohen(_pairs(table, pair)) if pair else None,
        table=confusion(table, *pair) if pair else None,
        pair=pair,
    )


def _the_two(table: RatingTable) -> tuple[Hashable, Hashable] | None:
    """Return the two people of the table, if there are two, in the order of their names."""
    if len(table.rater_ids) != TWO:
        return None
    first, second = sorted(table.rater_ids, key=str)
    return first, second


def _pairs(table: RatingTable, pair: tuple[Hashable, Hashable]) -> list[tuple[Hashable, Hashable]]:
    """Return what the two said of each item that both answered."""
    said: dict[int, dict[Hashable, int]] = {}
    for item, rater, label in zip(table.items, table.raters, table.labels, strict=True):
        said.setdefault(int(item), {})[table.rater_ids[rater]] = int(label)
    return [(labels[pair[0]], labels[pair[1]]) for labels in said.values() if len(labels) == TWO]
