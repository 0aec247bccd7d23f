"""Files of the published leaderboard for multiple-choice questions: the CSV of predictions, and answer keys.

A CSV has ``annot_id`` and 20 columns of scores: ``answer_0`` to ``answer_3``, and for each answer k the rationales
given that answer, ``rationale_conditioned_on_ak_0`` to ``_3`` (``models/README.md`` of rowanz/r2c). Ids are a set:
the order of rows and of columns is free. An answer key has one JSON object per line with ``annot_id``,
``answer_label`` and ``rationale_label``; lines of the published question files are keys too.
"""

import csv
import io
import math
from collections.abc import Iterable, Iterator, Sequence
from pathlib import Path
from typing import IO

import numpy as np
from numpy.typing import NDArray

from curation.evaluation.choice_items import (
    CHOICES,
    Stage,
    StageChoices,
    iterate_json_lines,
    note_id,
    parse_stage_key,
)
from curation.evaluation.choices import ChoiceKey, ChoicePredictions
from curation.evaluation.inputs import describe_ids
from curation.records import InvalidInput

ID_COLUMN = "annot_id"
ANSWER_COLUMNS = tuple(f"answer_{choice}" for choice in range(CHOICES))
RATIONALE_COLUMNS = tuple(
    f"rationale_conditioned_on_a{answer}_{choice}" for answer in range(CHOICES) for choice in range(CHOICES)
)
SCORE_COLUMNS = ANSWER_COLUMNS + RATIONALE_COLUMNS
COLUMNS = (ID_COLUMN, *SCORE_COLUMNS)


def read_answer_key_lines(path: Path) -> ChoiceKey:
    """Return the key of a file with one question per line.

    If present, ``img_id`` or ``img_fn`` names the image, and the match fold, sources and rounds are read too.

    Raises:
        InvalidInput: a line has no id or label, or an id occurs twice; the message names file and line.
    """
    lines: dict[str, str] = {}
    images, folds = [], []
    choices: dict[Stage, list[StageChoices]] = {stage: [] for stage in Stage}
    for location, record in iterate_json_lines(path):
        name = record.get(ID_COLUMN)
        if not isinstance(name, str) or not name:
            raise InvalidInput(f"{location}: has no {ID_COLUMN}; write one for each question")
        note_id(name, location, lines)
        for stage in Stage:
            found = parse_stage_key(record, stage, location)
            if found.label is None:
                raise InvalidInput(
                    f"{location}: has no {stage}_label; give the key, not the public test file"
                )
            choices[stage].append(found)
        images.append(str(record.get("img_id") or record.get("img_fn") or name))
        folds.append(str(record.get("match_fold") or ""))
    if not lines:
        raise InvalidInput(f"{path}: has no questions; give a file with one JSON object per line")
    return ChoiceKey.from_rows(list(lines), images, folds, choices)


def read_predictions_csv(path: Path, ids: Sequence[str]) -> ChoicePredictions:
    """Return the scores of a published CSV in the order of ``ids``.

    Raises:
        InvalidInput: the file cannot be read; or as ``parse_predictions_csv``.
    """
    try:
        with path.open("rb") as file:
            return parse_predictions_csv(file, str(path), ids)
    except OSError as error:
        raise InvalidInput(f"{path}: cannot be read ({error.strerror or error}); check the path") from error


def read_partial_predictions_csv(path: Path, ids: Sequence[str]) -> tuple[list[str], ChoicePredictions]:
    """Return the ids of a CSV that has some of the questions, in the order of ``ids``, and their scores.

    Raises:
        InvalidInput: as ``read_predictions_csv``, except that ids may be missing.
    """
    try:
        with path.open("rb") as file:
            scores, lines = _read_scores(file, str(path), ids)
    except OSError as error:
        raise InvalidInput(f"{path}: cannot be read ({error.strerror or error}); check the path") from error
    rows = [row for row, key in enumerate(ids) if key in lines]
    return [ids[row] for row in rows], _split_columns(scores[rows])


def parse_predictions_csv(file: IO[bytes], name: str, ids: Sequence[str]) -> ChoicePredictions:
    """Return the scores of an open CSV in the order of ``ids``; ``name`` names the file in messages.

    Raises:
        InvalidInput: a column is missing, unknown or doubled; a line has another number of values, an unknown or
            doubled id, or a score that is not a finite number; or ids are missing. The message names the line.
    """
    scores, lines = _read_scores(file, name, ids)
    if len(lines) != len(ids):
        missing = [key for key in ids if key not in lines]
        raise InvalidInput(f"{name}: no line for {describe_ids(missing)}; give one for every question")
    return _split_columns(scores)


def _read_scores(
    file: IO[bytes], name: str, ids: Sequence[str]
) -> tuple[NDArray[np.float64], dict[str, int]]:
    """Return the scores (n, 20) of the questions, NaN where there is no line, and the line of each id."""
    rows = {key: row for row, key in enumerate(ids)}
    scores = np.full((len(ids), len(SCORE_COLUMNS)), np.nan)
    lines: dict[str, int] = {}
    for line, key, values in _iterate_rows(file, name):
        if key in lines:
            raise InvalidInput(f"{name}: line {line}: {key!r} is on line {lines[key]} too; keep one of them")
        if key not in rows:
            raise InvalidInput(f"{name}: line {line}: {key!r} is not a question of the key; remove the line")
        lines[key] = line
        scores[rows[key]] = values
    return scores, lines


def _split_columns(scores: NDArray[np.float64]) -> ChoicePredictions:
    """Return scores (n, 20) in the order of ``SCORE_COLUMNS`` as predictions."""
    return ChoicePredictions(
        answers=scores[:, :CHOICES],
        rationales=scores[:, CHOICES:].reshape(len(scores), CHOICES, CHOICES),
    )


def _iterate_rows(file: IO[bytes], name: str) -> Iterator[tuple[int, str, list[float]]]:
    """Yield the line number, the id and the 20 scores of each row, in the order of ``SCORE_COLUMNS``."""
    text = io.TextIOWrapper(file, encoding="utf-8-sig", newline="")
    reader = csv.reader(text)
    try:
        order = _column_order(next(reader, []), name)
        for row in reader:
            if not row:
                continue
            where = f"{name}: line {reader.line_num}"
            if len(row) != len(COLUMNS):
                raise InvalidInput(
                    f"{where}: has {max(0, len(row) - 1)} values after the id; it must have {len(SCORE_COLUMNS)}"
                )
            yield (
                reader.line_num,
                row[order[0]],
                [
                    _parse_score(row[column], f"{where}: {heading}")
                    for heading, column in zip(SCORE_COLUMNS, order[1:], strict=True)
                ],
            )
    except (csv.Error, UnicodeDecodeError) as error:
        raise InvalidInput(
            f"{name}: line {reader.line_num + 1}: is not CSV in UTF-8 ({error}); save it again"
        ) from error
    finally:
        text.detach()  # the caller closes the file


def _column_order(header: Sequence[str], name: str) -> list[int]:
    """Return the position of each of ``COLUMNS`` in the header."""
    headings = [heading.strip() for heading in header]
    missing = [column for column in COLUMNS if column not in headings]
    unknown = [heading for heading in headings if heading not in COLUMNS]
    doubled = [heading for heading in dict.fromkeys(headings) if headings.count(heading) > 1]
    for problem, found in (
        ("is missing", missing),
        ("is not a column", unknown),
        ("is there twice", doubled),
    ):
        if found:
            more = f" and {len(found) - 1} more" if len(found) > 1 else ""
            raise InvalidInput(
                f"{name}: line 1: {found[0]!r}{more} {problem}; the columns are {ID_COLUMN}, {ANSWER_COLUMNS[0]} to "
                f"{ANSWER_COLUMNS[-1]}, and {RATIONALE_COLUMNS[0]} to {RATIONALE_COLUMNS[-1]}"
            )
    return [headings.index(column) for column in COLUMNS]


def _parse_score(text: str, where: str) -> float:
    try:
        value = float(text)
    except ValueError:
        value = math.nan
    if not math.isfinite(value):
        raise InvalidInput(f"{where} is {text[:20]!r}; give a finite number")
    return value


def format_predictions_csv(ids: Sequence[str], predictions: ChoicePredictions) -> Iterator[str]:
    """Yield the lines of a published CSV, the header first; reading them again gives equal scores.

    ids: (n,), in the order of the predictions.
    """
    yield ",".join(COLUMNS) + "\n"
    for key, answers, rationales in zip(ids, predictions.answers, predictions.rationales, strict=True):
        line = io.StringIO()
        values: Iterable[float] = [*answers.tolist(), *rationales.ravel().tolist()]
        csv.writer(line, lineterminator="\n").writerow([key, *(repr(value) for value in values)])
        yield line.getvalue()
