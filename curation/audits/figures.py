"""The figures of an audit: the share of each value, with intervals, and the readers' agreement.

A share is of the pairs with an agreed value. It has Wilson's interval (``validation.domain.reports.planner``) if the
pairs were sampled at random: overall in a random sample; within each split in a sample by split too. Pairs chosen by
a score have no intervals.

Agreement is computed from blind labels (``curation.audits.labels``): percent agreement and Krippendorff's alpha, and
Cohen's kappa if the same two people labelled everything. Each choice of a multiple-choice code is its own question.
"""

from collections.abc import Hashable, Mapping, Sequence
from dataclasses import dataclass

import numpy as np

from curation.audits.answers import chosen_values
from curation.audits.codebook import NO, YES, Code, Codebook, CodeKind, PublishedFigure
from curation.audits.labels import ItemLabels, ItemState
from curation.audits.sampling import SamplingMethod
from validation.domain.agreement.coefficients import Coefficient, CoefficientName, coefficients
from validation.domain.agreement.cohen import GraderAgreement, confusion_matrix, grader_agreement
from validation.domain.judging.ratings import IntArray, RatingTable
from validation.domain.reports.planner import Interval, wilson_interval

COHEN_READERS = 2  # Cohen's kappa compares two readers


@dataclass(frozen=True, slots=True)
class LabelledItem:
    """A pair of the sample, by its published id, with its labels; ``position`` counts from 1."""

    instance_id: str
    position: int
    split: str
    score: float | None
    labels: ItemLabels


@dataclass(frozen=True, slots=True)
class Share:
    """How many of the pairs with an agreed answer (``total``) have a value (``count``).

    ``interval`` is ``None`` unless the pairs were sampled at random.
    """

    count: int
    total: int
    interval: Interval | None

    @property
    def share(self) -> float | None:
        """``count / total``, or ``None`` if there are no pairs."""
        return self.count / self.total if self.total else None


@dataclass(frozen=True, slots=True)
class ValueFigures:
    """A value's figures: overall, by split, and as published."""

    value: str
    label: str
    overall: Share
    by_split: Mapping[str, Share]
    published: tuple[PublishedFigure, ...]


@dataclass(frozen=True, slots=True)
class AgreementFigures:
    """The readers' blind agreement on a question.

    ``choice`` is set if the question is whether that choice was ticked. If exactly two readers labelled,
    ``reader_pair`` names them, and ``cohen`` and the confusion matrix ``table`` (labels, labels; rows: the first
    reader) are set.
    """

    choice: str | None
    labels: tuple[str, ...]
    percent: Coefficient
    alpha: Coefficient
    cohen: GraderAgreement | None
    table: IntArray | None
    reader_pair: tuple[Hashable, Hashable] | None


@dataclass(frozen=True, slots=True)
class CodeFigures:
    """A code's figures. ``agreed`` and ``differing`` count the pairs with an agreed answer, and with a difference."""

    code: Code
    values: tuple[ValueFigures, ...]
    agreed: int
    differing: int
    agreement: tuple[AgreementFigures, ...]


def count_by_state(items: Sequence[LabelledItem], codebook: Codebook) -> dict[ItemState, int]:
    """Return the number of pairs in each state."""
    states = [item.labels.state(codebook) for item in items]
    return {state: states.count(state) for state in ItemState}


def code_figures(
    items: Sequence[LabelledItem], codebook: Codebook, *, method: SamplingMethod, rng: np.random.Generator
) -> list[CodeFigures]:
    """Return the figures of every code, over the complete pairs.

    Args:
        method: how the pairs were chosen, which determines where intervals are given. rng: used for the bootstrap.
    """
    done = [item for item in items if item.labels.is_complete]
    agreed = [(item.split, item.labels.agreed_answers(codebook)) for item in done]
    differing = [item.labels.differing_codes(codebook) for item in done]
    return [
        CodeFigures(
            code=code,
            values=tuple(_value_figures(code, value, agreed, codebook, method) for value in code.values),
            agreed=sum(code.id in answers for _, answers in agreed),
            differing=sum(code.id in codes for codes in differing),
            agreement=tuple(_code_agreements(code, done, rng)),
        )
        for code in codebook.codes
    ]


_AgreedAnswers = Sequence[tuple[str, Mapping[str, object]]]


def _value_figures(
    code: Code, value: str, agreed: _AgreedAnswers, codebook: Codebook, method: SamplingMethod
) -> ValueFigures:
    by_split: dict[str, list[tuple[str, Mapping[str, object]]]] = {}
    for row in agreed:
        by_split.setdefault(row[0], []).append(row)
    is_random, is_random_in_split = method is SamplingMethod.RANDOM, method is not SamplingMethod.TOP
    return ValueFigures(
        value=value,
        label=code.value_label(value),
        overall=_value_share(code.id, value, agreed, is_random=is_random),
        by_split={
            split: _value_share(code.id, value, rows, is_random=is_random_in_split)
            for split, rows in sorted(by_split.items())
        },
        published=tuple(
            figure for figure in codebook.published if (figure.code, figure.value) == (code.id, value)
        ),
    )


def _value_share(code: str, value: str, agreed: _AgreedAnswers, *, is_random: bool) -> Share:
    answered = [answers for _, answers in agreed if code in answers]
    count = sum(value in chosen_values(answers, code) for answers in answered)
    total = len(answered)
    return Share(count, total, wilson_interval(total, count / total) if is_random and total else None)


def _code_agreements(
    code: Code, done: Sequence[LabelledItem], rng: np.random.Generator
) -> list[AgreementFigures]:
    if code.kind is CodeKind.MULTIPLE:
        return [_measure_agreement(_choice_table(code, value, done), value, rng) for value in code.values]
    rows = [(key, reader, values[0]) for key, reader, values in _blind_answers(code, done)]
    return [_measure_agreement(RatingTable.from_rows(rows, code.values), None, rng)]


def _choice_table(code: Code, value: str, done: Sequence[LabelledItem]) -> RatingTable:
    rows = [(key, reader, YES if value in found else NO) for key, reader, found in _blind_answers(code, done)]
    return RatingTable.from_rows(rows, (YES, NO))


def _blind_answers(code: Code, done: Sequence[LabelledItem]) -> list[tuple[Hashable, Hashable, list[str]]]:
    """Return (pair, reader, values) of each blind answer to a code."""
    return [
        (item.instance_id, reader, values)
        for item in done
        for reader, label in item.labels.blind.items()
        if (values := chosen_values(label.code_answers, code.id))
    ]


def _measure_agreement(table: RatingTable, choice: str | None, rng: np.random.Generator) -> AgreementFigures:
    found = coefficients(table, [CoefficientName.PERCENT, CoefficientName.ALPHA_NOMINAL], rng=rng)
    pair = _reader_pair_if_two(table)
    return AgreementFigures(
        choice=choice,
        labels=tuple(str(label) for label in table.scale),
        percent=found[CoefficientName.PERCENT],
        alpha=found[CoefficientName.ALPHA_NOMINAL],
        cohen=grader_agreement(_paired_labels(table, pair)) if pair else None,
        table=confusion_matrix(table, *pair) if pair else None,
        reader_pair=pair,
    )


def _reader_pair_if_two(table: RatingTable) -> tuple[Hashable, Hashable] | None:
    """Return the two readers of the table, in order, if there are exactly two."""
    if len(table.rater_ids) != COHEN_READERS:
        return None
    first, second = sorted(table.rater_ids, key=str)
    return first, second


def _paired_labels(table: RatingTable, pair: tuple[Hashable, Hashable]) -> list[tuple[Hashable, Hashable]]:
    """Return the answers of two readers to each item that both answered."""
    labels_by_item: dict[int, dict[Hashable, int]] = {}
    for item, rater, label in zip(table.items, table.raters, table.labels, strict=True):
        labels_by_item.setdefault(int(item), {})[table.rater_ids[rater]] = int(label)
    return [(row[pair[0]], row[pair[1]]) for row in labels_by_item.values() if len(row) == COHEN_READERS]
