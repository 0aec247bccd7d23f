"""Audits as files: a CSV with one line per pair and code, and a complete JSON document.

Readers are named by letters only. While the audit is open, the labels of pairs that still need readers are left out:
nobody can read others' labels before labelling the pair.
"""

from collections.abc import Iterator, Mapping, Sequence
from dataclasses import asdict
from typing import Any

from curation.audits.answers import chosen_values
from curation.audits.codebook import Codebook
from curation.audits.figures import AgreementFigures, CodeFigures, LabelledItem, ValueFigures
from curation.audits.labels import ItemState, ReaderLabel
from hits.domain.files.csv_download import escape_formula

VALUE_SEPARATOR = ";"


def csv_columns(letters: Sequence[str]) -> list[str]:
    """Return the headings of the columns that ``csv_rows`` yields."""
    fixed = ["instance_id", "split", "place", "score", "codebook", "codebook_version", "code", "state"]
    return [*fixed, *(f"reader_{letter}" for letter in letters), "agreed"]


def csv_rows(
    items: Sequence[LabelledItem], codebook: Codebook, letters: Sequence[str], *, is_open: bool
) -> Iterator[list[object]]:
    """Yield a row per pair and code: each counted reader's answer and the agreed one; values are joined by ``;``."""
    for item in items:
        state = item.labels.state(codebook)
        hidden = has_hidden_labels(state, is_open=is_open)
        agreed = item.labels.agreed_answers(codebook)
        for code in codebook.codes:
            labels = {str(reader): label for reader, label in item.labels.counted.items() if not hidden}
            yield [
                item.instance_id,
                escape_formula(item.split),
                item.position,
                "" if item.score is None else item.score,
                codebook.id,
                codebook.version,
                code.id,
                state.value,
                *(
                    _csv_cell(labels[letter].code_answers, code.id) if letter in labels else ""
                    for letter in letters
                ),
                _csv_cell(agreed, code.id),
            ]


def has_hidden_labels(state: ItemState, *, is_open: bool) -> bool:
    """Whether the labels of a pair in this state are left out while the audit is open."""
    return is_open and state is ItemState.INCOMPLETE


def json_rows(
    items: Sequence[LabelledItem], codebook: Codebook, *, is_open: bool
) -> Iterator[dict[str, Any]]:
    """Yield each pair with its labels as plain data."""
    for item in items:
        state = item.labels.state(codebook)
        row: dict[str, Any] = {
            "instance_id": item.instance_id,
            "split": item.split,
            "place": item.position,
            "score": item.score,
            "state": state.value,
            "readings": [] if has_hidden_labels(state, is_open=is_open) else _item_labels(item),
            "agreed": item.labels.agreed_answers(codebook),
        }
        if item.labels.settlement is not None:
            row["settled_with"] = item.labels.settlement.note
        yield row


def figures_document(code_figures: Sequence[CodeFigures]) -> list[dict[str, Any]]:
    """Return the figures as plain data; undefined coefficients are null."""
    return [
        {
            "code": figures.code.id,
            "agreed_on": figures.agreed,
            "differ": figures.differing,
            "values": [_value_document(value) for value in figures.values],
            "agreement": [_agreement_document(agreement) for agreement in figures.agreement],
        }
        for figures in code_figures
    ]


def _item_labels(item: LabelledItem) -> list[dict[str, Any]]:
    rows = []
    for reader, label in item.labels.counted.items():
        blind = item.labels.blind[reader]
        row = _label_document(str(reader), label) | {"counts": True}
        rows.append(
            row if blind.code_answers == label.code_answers else row | {"blind_answers": blind.code_answers}
        )
    rows += [
        _label_document(str(reader), label) | {"counts": False}
        for reader, label in item.labels.surplus.items()
    ]
    return rows


def _label_document(letter: str, label: ReaderLabel) -> dict[str, Any]:
    return {"reader": letter, "answers": label.code_answers, "note": label.note}


def _value_document(figure: ValueFigures) -> dict[str, Any]:
    interval = figure.overall.interval
    return {
        "value": figure.value,
        "count": figure.overall.count,
        "of": figure.overall.total,
        "interval_95": [interval.low, interval.high] if interval else None,
        "by_split": {
            split: {"count": share.count, "of": share.total} for split, share in figure.by_split.items()
        },
    }


def _agreement_document(figure: AgreementFigures) -> dict[str, Any]:
    return {
        "choice": figure.choice,
        "labels": list(figure.labels),
        "percent_agreement": asdict(figure.percent),
        "krippendorff_alpha": asdict(figure.alpha),
        "cohen_kappa": asdict(figure.cohen) if figure.cohen else None,
        "table": figure.table.tolist() if figure.table is not None else None,
        "readers": list(figure.reader_pair) if figure.reader_pair else None,
    }


def _csv_cell(answers: Mapping[str, Any], code: str) -> str:
    return VALUE_SEPARATOR.join(chosen_values(answers, code))
