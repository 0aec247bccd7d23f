"""An audit as files: one line per pair and code for a spreadsheet, and one JSON document with all of it.

Readers are letters; who they are is told nowhere. What has been read of a pair that still waits for a reader is left
out while the audit is open, so that nobody reads it there first.
"""

from collections.abc import Iterator, Mapping, Sequence
from dataclasses import asdict
from typing import Any

from curation.audits.answers import chosen
from curation.audits.codebook import Codebook
from curation.audits.figures import AgreementFigures, CodeFigures, ReadItem, ValueFigures
from curation.audits.readings import ItemState, Reading
from hits.domain.files.csv_download import words

BETWEEN = ";"


def columns(letters: Sequence[str]) -> list[str]:
    """Return the names of the columns of ``lines``."""
    fixed = ["instance_id", "split", "place", "score", "codebook", "codebook_version", "code", "state"]
    return [*fixed, *(f"reader_{letter}" for letter in letters), "agreed"]


def lines(
    items: Sequence[ReadItem], codebook: Codebook, letters: Sequence[str], *, is_open: bool
) -> Iterator[list[object]]:
    """Yield a line per pair and code: what each reader who counts says, and what is agreed; several by ``;``."""
    for item in items:
        state = item.readings.state(codebook)
        hidden = is_hidden(state, is_open=is_open)
        agreed = item.readings.agreed(codebook)
        for code in codebook.codes:
            said = {str(reader): reading for reader, reading in item.readings.standing.items() if not hidden}
            yield [
                item.key,
                words(item.split),
                item.place,
                "" if item.score is None else item.score,
                codebook.id,
                codebook.version,
                code.id,
                state.value,
                *(_cell(said[letter].codes, code.id) if letter in said else "" for letter in letters),
                _cell(agreed, code.id),
            ]


def is_hidden(state: ItemState, *, is_open: bool) -> bool:
    """Tell whether the readings of a pair are kept from everybody for now."""
    return is_open and state is ItemState.READING


def items_document(
    items: Sequence[ReadItem], codebook: Codebook, *, is_open: bool
) -> Iterator[dict[str, Any]]:
    """Yield each pair with its readings as plain data."""
    for item in items:
        state = item.readings.state(codebook)
        row: dict[str, Any] = {
            "instance_id": item.key,
            "split": item.split,
            "place": item.place,
            "score": item.score,
            "state": state.value,
            "readings": [] if is_hidden(state, is_open=is_open) else _readings(item),
            "agreed": item.readings.agreed(codebook),
        }
        if item.readings.settling is not None:
            row["settled_with"] = item.readings.settling.note
        yield row


def figures_document(found: Sequence[CodeFigures]) -> list[dict[str, Any]]:
    """Return the figures as plain data; coefficients that are not defined are null."""
    return [
        {
            "code": row.code.id,
            "agreed_on": row.of,
            "differ": row.open,
            "values": [_value(value) for value in row.values],
            "agreement": [_agreement(agreement) for agreement in row.agreement],
        }
        for row in found
    ]


def _readings(item: ReadItem) -> list[dict[str, Any]]:
    rows = []
    for reader, reading in item.readings.standing.items():
        blind = item.readings.blind[reader]
        row = _reading(str(reader), reading) | {"counts": True}
        rows.append(row if blind.codes == reading.codes else row | {"blind_answers": blind.codes})
    rows += [
        _reading(str(reader), reading) | {"counts": False}
        for reader, reading in item.readings.surplus.items()
    ]
    return rows


def _reading(letter: str, reading: Reading) -> dict[str, Any]:
    return {"reader": letter, "answers": reading.codes, "note": reading.note}


def _value(figure: ValueFigures) -> dict[str, Any]:
    interval = figure.total.interval
    return {
        "value": figure.value,
        "count": figure.total.count,
        "of": figure.total.of,
        "interval_95": [interval.low, interval.high] if interval else None,
        "by_split": {
            split: {"count": share.count, "of": share.of} for split, share in figure.by_split.items()
        },
    }


def _agreement(figure: AgreementFigures) -> dict[str, Any]:
    return {
        "choice": figure.choice,
        "labels": list(figure.labels),
        "percent_agreement": asdict(figure.percent),
        "krippendorff_alpha": asdict(figure.alpha),
        "cohen_kappa": asdict(figure.cohen) if figure.cohen else None,
        "table": figure.table.tolist() if figure.table is not None else None,
        "readers": list(figure.pair) if figure.pair else None,
    }


def _cell(answers: Mapping[str, Any], code: str) -> str:
    return BETWEEN.join(chosen(answers, code))
