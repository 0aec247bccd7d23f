"""Files of judgments as plain answers: rows of one rating each, as the report page exports them.

A row has kind, item, dimension, label, rater, and the seconds that the whole answer took.
"""

from collections.abc import Iterable, Mapping
from typing import Any

from validation.domain.judging.judgment_rows import FileError, Given, checked_id
from validation.domain.judging.spec import SEPARATOR, Dimension, JudgingSpec, Scale

NEEDED = ("item", "dimension", "label", "rater")
MAX_RATER = 200
MADE_UP = ("1", "true")
Labels = Mapping[tuple[str, str], Any]


def from_rows(
    rows: Iterable[tuple[int, Mapping[str, Any]]], spec: JudgingSpec, *, made_up: bool = False
) -> list[Given]:
    """Return the answers that rows of one rating each make up, in the order of their first row.

    Args:
        rows: (number in the file, values by column). A kind or a batch of another kind in a row is refused.
        made_up: whether rows marked as simulated are taken; only a rehearsal takes them.

    Raises:
        FileError: a value that is missing or not on the scale, a rating that stands twice, an answer that lacks one
            of its dimensions, a simulated row that is not to be taken.
    """
    answers: dict[tuple[str, str], dict[tuple[str, str], Any]] = {}
    first: dict[tuple[str, str], tuple[int, float | None]] = {}
    for number, row in rows:
        where = f"row {number}"
        values = {name: _cell(row, name, where) for name in NEEDED}
        kind = str(row.get("kind") or spec.name)
        if kind != spec.name:
            raise FileError(f"{where}, kind: {kind!r}; this import is of {spec.name}, keep only its rows")
        if not made_up and str(row.get("simulated") or "").strip().casefold() in MADE_UP:
            raise FileError(f"{where}, simulated: a script made it up; only a rehearsal project takes it")
        item, part = _place(values["item"], spec, where)
        label = _label(values["dimension"], values["label"], spec, where)
        key = (item, values["rater"])
        given = answers.setdefault(key, {})
        if (values["dimension"], part) in given:
            raise FileError(
                f"{where}, item: rater {values['rater']!r} rated {values['item']!r} twice; keep one rating"
            )
        given[values["dimension"], part] = label
        first.setdefault(key, (number, _seconds(row, where)))
    if not answers:
        raise FileError("no row; there is nothing to import")
    return [
        Given(item, rater, _answer(spec, given, first[item, rater][0]), first[item, rater][1])
        for (item, rater), given in answers.items()
    ]


def _cell(row: Mapping[str, Any], name: str, where: str) -> str:
    value = row.get(name)
    if isinstance(value, bytes | list | dict):
        raise FileError(f"{where}, {name}: is {type(value).__name__}, not text; write the column as text")
    text = "" if value is None else str(value).strip()
    if not text:
        raise FileError(f"{where}, {name}: is empty; fill it in")
    if name == "rater" and (len(text) > MAX_RATER or not text.isprintable()):
        raise FileError(f"{where}, rater: use a name of at most {MAX_RATER} visible characters")
    return text


def _seconds(row: Mapping[str, Any], where: str) -> float | None:
    value = row.get("seconds")
    if value is None or value == "":
        return None
    try:
        seconds = float(value)
    except (TypeError, ValueError):
        seconds = -1.0
    if not 0 <= seconds < float("inf"):
        raise FileError(f"{where}, seconds: {value!r} is no time; use seconds from 0, or leave it empty")
    return seconds


def _place(item: str, spec: JudgingSpec, where: str) -> tuple[str, str]:
    """Return the judgment's item and, where one answer rates several things, which of them."""
    if not spec.has_parts:
        return checked_id(item, f"{where}, item"), ""
    place, _, part = item.rpartition("/")
    if not place or not part:
        raise FileError(f"{where}, item: {item!r} names no part; write it as set/candidate")
    checked_id(part, f"{where}, item")
    return checked_id(place, f"{where}, item"), part


def _label(name: str, label: str, spec: JudgingSpec, where: str) -> Any:
    if name not in spec.by_name:
        raise FileError(
            f"{where}, dimension: {name!r} is not one of {spec.name}; use {', '.join(spec.by_name)}"
        )
    dimension = spec.dimension(name)
    if dimension.scale is Scale.TEXT:
        return label
    if dimension.scale is Scale.MULTIPLE:
        ticked = [one.strip() for one in label.split(SEPARATOR) if one.strip()]
        chosen = [_known(dimension, one, where) for one in ticked]
        return [one for one in dimension.labels if one in chosen]
    if not dimension.is_fixed:
        return checked_id(label, f"{where}, label")
    return _known(dimension, label, where)


def _known(dimension: Dimension, label: str, where: str) -> str | int:
    """Return a label of the dimension's scale; numbers may be written as 2 or 2.0."""
    if dimension.is_numeric:
        return number_on(dimension, label, f"{where}, label")
    for known in dimension.labels:
        if str(known) == label:
            return known
    names = ", ".join(str(known) for known in dimension.best_first)
    raise FileError(f"{where}, label: {label!r} is not on the scale; use {names}")


def number_on(dimension: Dimension, value: Any, where: str) -> int:
    """Return a number of a numeric scale.

    Raises:
        FileError: it is none of the scale's.
    """
    try:
        number = float("nan") if isinstance(value, bool) else float(value)
    except (TypeError, ValueError, OverflowError):
        number = float("nan")
    if number not in dimension.values:
        *most, last = (str(label) for label in dimension.labels)
        raise FileError(f"{where}: {value!r} is no rating; use {', '.join(most)} or {last}")
    return int(number)


def _answer(spec: JudgingSpec, given: Labels, number: int) -> dict[str, Any]:
    needed = [one.name for one in spec.dimensions if one.scale is not Scale.TEXT]
    for part in dict.fromkeys(part for _, part in given):
        missing = [name for name in needed if (name, part) not in given]
        if missing:
            raise FileError(f"row {number}: the answer that begins here lacks {missing[0]}; add a row for it")
    if spec.has_parts:
        return spec.answer(given)
    return spec.answer({(name, ""): given[name, ""] for name in spec.by_name if (name, "") in given})
