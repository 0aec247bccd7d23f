"""The answers of an evaluation as files that ``manage.py evaluate nleye`` reads, and its figures as a table."""

import csv
import io
import json
from collections.abc import Iterable, Iterator, Mapping
from typing import Any

from curation.evaluation.nleye import TRIPLET
from curation.evaluation.nleye_files import pair_score_lines, prediction_lines, triplet_key_json
from curation.models import TripletEvaluation
from curation.selectors.triplets.evaluations import (
    explanations_by_presentation,
    read_choices,
    read_scores,
    triplet_key,
    version_triplets,
)
from hits.domain.files.csv_download import escape_formula

KEY_FILE, PREDICTIONS_FILE, PAIRS_FILE = "key.json", "predictions.jsonl", "pairs.jsonl"
TABLE_FILE, FIGURES_FILE, FIGURES_TABLE = "predictions.csv", "figures.json", "figures.csv"
_COLUMNS = ("id", "presentation", "hypothesis", "choice", "score", "reason", "explanation")


def prediction_files(evaluation: TripletEvaluation) -> dict[str, bytes]:
    """Return the answers and the answer key as files by name; ids are the numbers of the exported table."""
    assert evaluation.version is not None
    triplets = version_triplets(evaluation.version, evaluation.options.get("split", ""))
    key = triplet_key_json(triplet_key(triplets, by_number=True))
    answers = PREDICTIONS_FILE if evaluation.setup == TRIPLET else PAIRS_FILE
    return {
        KEY_FILE: json.dumps(key, ensure_ascii=False, indent=1).encode() + b"\n",
        answers: _join(_answer_lines(evaluation)),
    }


def prediction_table(evaluation: TripletEvaluation) -> bytes:
    """Return the answers as CSV, one row for each line of the file of answers."""
    rows = [json.loads(line) for line in _answer_lines(evaluation)]
    return _csv(_COLUMNS, ([_cell(row.get(name)) for name in _COLUMNS] for row in rows))


def figures_json(evaluation: TripletEvaluation) -> bytes:
    """Return the figures as they are stored."""
    return json.dumps(evaluation.figures, ensure_ascii=False, indent=1).encode() + b"\n"


def figures_table(evaluation: TripletEvaluation) -> bytes:
    """Return the figures as CSV: the path of each number in the JSON, and the number to its last digit."""
    return _csv(("figure", "value"), ((name, _cell(value)) for name, value in _flatten(evaluation.figures)))


def _answer_lines(evaluation: TripletEvaluation) -> Iterator[str]:
    """Yield the lines of the file of answers; corrections of replies count."""
    assert evaluation.version is not None
    triplets = version_triplets(evaluation.version, evaluation.options.get("split", ""))
    ids = [row.id for row in triplets]
    numbers = [str(row.number) for row in triplets]
    if evaluation.setup != TRIPLET:
        yield from pair_score_lines(numbers, read_scores(evaluation, ids))
        return
    shown = dict(zip(ids, numbers, strict=True))
    explained = {
        (shown[triplet], presentation): row.explanation
        for (triplet, presentation), row in explanations_by_presentation(evaluation).items()
        if triplet in shown
    }
    yield from prediction_lines(numbers, read_choices(evaluation, ids), explained)


def _join(lines: Iterable[str]) -> bytes:
    return "".join(f"{line.rstrip()}\n" for line in lines).encode()


def _flatten(value: Any, path: str = "") -> Iterator[tuple[str, Any]]:
    if isinstance(value, Mapping):
        for name, inner in value.items():
            yield from _flatten(inner, f"{path}.{name}" if path else str(name))
    elif not isinstance(value, list):
        yield path, value


def _cell(value: Any) -> str:
    return "" if value is None else escape_formula(value) if isinstance(value, str) else str(value)


def _csv(header: Iterable[str], rows: Iterable[Iterable[str]]) -> bytes:
    file = io.StringIO()
    writer = csv.writer(file, lineterminator="\r\n")
    writer.writerow(header)
    writer.writerows(rows)
    return file.getvalue().encode()
