"""Parse files of judgments with one rating per row, as the report page exports them, into answers.

A row has kind, item, dimension, label, rater, and the active seconds of the whole answer.
"""

from collections.abc import Iterable, Mapping
from typing import Any

from validation.domain.judging.judgment_rows import JudgmentFileError, ParsedJudgment, validate_id
from validation.domain.judging.spec import LABEL_SEPARATOR, Dimension, JudgingSpec, Scale

REQUIRED_COLUMNS = ("item", "dimension", "label", "rater")
MAX_RATER_LENGTH = 200
SIMULATED_VALUES = ("1", "true")
AnswerLabels = Mapping[tuple[str, str], Any]


def parse_rating_rows(
    rows: Iterable[tuple[int, Mapping[str, Any]]], spec: JudgingSpec, *, allow_simulated: bool = False
) -> list[ParsedJudgment]:
    """Return the answers in rows of one rating each, in the order of their first row.

    Args:
        rows: (number in the file, values by column). A row of another kind is refused.
        allow_simulated: whether to accept rows marked as simulated; only a rehearsal does.

    Raises:
        JudgmentFileError: a value that is missing or not on the scale, a repeated rating, an answer that lacks a
            dimension, or a simulated row.
    """
    answers: dict[tuple[str, str], dict[tuple[str, str], Any]] = {}
    first_rows: dict[tuple[str, str], tuple[int, float | None]] = {}
    for number, row in rows:
        where = f"row {number}"
        values = {name: _read_cell(row, name, where) for name in REQUIRED_COLUMNS}
        kind = str(row.get("kind") or spec.name)
        if kind != spec.name:
            raise JudgmentFileError(
                f"{where}, kind: {kind!r}; this import takes {spec.name}; remove other rows"
            )
        if not allow_simulated and str(row.get("simulated") or "").strip().casefold() in SIMULATED_VALUES:
            raise JudgmentFileError(
                f"{where}, simulated: the rating is simulated; import it into a rehearsal project"
            )
        item, part = _split_item(values["item"], values["dimension"], spec, where)
        label = _parse_label(values["dimension"], values["label"], spec, where)
        key = (item, values["rater"])
        labels = answers.setdefault(key, {})
        if (values["dimension"], part) in labels:
            raise JudgmentFileError(
                f"{where}, item: rater {values['rater']!r} rated {values['item']!r} twice; keep one rating"
            )
        labels[values["dimension"], part] = label
        first_rows.setdefault(key, (number, _read_seconds(row, where)))
    if not answers:
        raise JudgmentFileError("the file has no rows; there is nothing to import")
    return [
        ParsedJudgment(
            item, rater, _build_answer(spec, labels, first_rows[item, rater][0]), first_rows[item, rater][1]
        )
        for (item, rater), labels in answers.items()
    ]


def _read_cell(row: Mapping[str, Any], name: str, where: str) -> str:
    value = row.get(name)
    if isinstance(value, bytes | list | dict):
        raise JudgmentFileError(
            f"{where}, {name}: is {type(value).__name__}, not text; write the column as text"
        )
    text = "" if value is None else str(value).strip()
    if not text:
        raise JudgmentFileError(f"{where}, {name}: is empty; fill it in")
    if name == "rater" and (len(text) > MAX_RATER_LENGTH or not text.isprintable()):
        raise JudgmentFileError(
            f"{where}, rater: use a name of at most {MAX_RATER_LENGTH} visible characters"
        )
    return text


def _read_seconds(row: Mapping[str, Any], where: str) -> float | None:
    value = row.get("seconds")
    if value is None or value == "":
        return None
    try:
        seconds = float(value)
    except (TypeError, ValueError):
        seconds = -1.0
    if not 0 <= seconds < float("inf"):
        raise JudgmentFileError(
            f"{where}, seconds: {value!r} is not a time; use seconds from 0, or leave it empty"
        )
    return seconds


def _split_item(item: str, dimension: str, spec: JudgingSpec, where: str) -> tuple[str, str]:
    """Return the judgment's item and the rated part; the part is empty if the dimension is about whole items."""
    known = spec.dimensions_by_name.get(dimension)
    if not spec.has_parts or (known is not None and known.is_whole):
        return validate_id(item, f"{where}, item"), ""
    item_id, _, part = item.rpartition("/")
    if not item_id or not part:
        raise JudgmentFileError(f"{where}, item: {item!r} has no part; write it as set/candidate")
    validate_id(part, f"{where}, item")
    return validate_id(item_id, f"{where}, item"), part


def _parse_label(name: str, label: str, spec: JudgingSpec, where: str) -> Any:
    if name not in spec.dimensions_by_name:
        raise JudgmentFileError(
            f"{where}, dimension: {name!r} is not a dimension of {spec.name}; "
            f"use {', '.join(spec.dimensions_by_name)}"
        )
    dimension = spec.dimension(name)
    if dimension.scale is Scale.TEXT:
        return label
    if dimension.scale is Scale.MULTIPLE:
        ticked = [text.strip() for text in label.split(LABEL_SEPARATOR) if text.strip()]
        chosen = [_match_label(dimension, text, where) for text in ticked]
        return [text for text in dimension.labels if text in chosen]
    if not dimension.has_fixed_labels:
        return validate_id(label, f"{where}, label")
    return _match_label(dimension, label, where)


def _match_label(dimension: Dimension, label: str, where: str) -> str | int:
    """Return a label of the dimension's scale; a file may write a number as 2 or 2.0."""
    if dimension.is_numeric:
        return parse_numeric_label(dimension, label, f"{where}, label")
    for known in dimension.labels:
        if str(known) == label:
            return known
    names = ", ".join(str(known) for known in dimension.labels_best_first)
    raise JudgmentFileError(f"{where}, label: {label!r} is not on the scale; use {names}")


def parse_numeric_label(dimension: Dimension, value: Any, where: str) -> int:
    """Return a number of a numeric scale.

    Raises:
        JudgmentFileError: the number is not on the scale.
    """
    try:
        number = float("nan") if isinstance(value, bool) else float(value)
    except (TypeError, ValueError, OverflowError):
        number = float("nan")
    if number not in dimension.values:
        *others, last = (str(label) for label in dimension.labels)
        raise JudgmentFileError(f"{where}: {value!r} is not a rating; use {', '.join(others)} or {last}")
    return int(number)


def _build_answer(spec: JudgingSpec, labels: AnswerLabels, row_number: int) -> dict[str, Any]:
    required = [row for row in spec.dimensions if row.scale is not Scale.TEXT and not row.is_optional]
    for part in dict.fromkeys(part for _, part in labels):
        # The whole item has the empty part; without parts, every dimension is about it.
        names = [row.name for row in required if not spec.has_parts or row.is_whole == (not part)]
        missing = [name for name in names if (name, part) not in labels]
        if missing:
            raise JudgmentFileError(
                f"row {row_number}: the answer that starts here lacks {missing[0]}; add a row for it"
            )
    if spec.has_parts:
        return spec.build_answer(labels)
    return spec.build_answer(
        {(name, ""): labels[name, ""] for name in spec.dimensions_by_name if (name, "") in labels}
    )
