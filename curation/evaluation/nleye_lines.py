"""Lines of JSON about the presentations, hypotheses and ids of image triplets: one line for each, and no other."""

import json
import re
from collections.abc import Callable, Iterable, Iterator, Mapping, Sequence
from contextlib import contextmanager
from pathlib import Path
from typing import IO, Any, TypeVar

from curation.evaluation.inputs import parse_json
from curation.evaluation.nleye_key import HYPOTHESES, MAX_SCORE, PRESENTATIONS, ChoiceCode
from curation.records import InvalidInput

CODES: Mapping[Any, ChoiceCode] = {
    1: ChoiceCode.FIRST,
    2: ChoiceCode.SECOND,
    "equal": ChoiceCode.EQUAL,
    "none": ChoiceCode.NONE,
    None: ChoiceCode.MISSING,
}
"""The code of a choice in a file."""
UNREAD = (ChoiceCode.REFUSED, ChoiceCode.UNPARSEABLE, ChoiceCode.MISSING)
"""Why a choice is null."""
MAX_SHOWN = 40  # characters of a wrong value in messages
_CHOICES_HINT = 'use 1, 2, "equal", "none" or null'
_UNSTORABLE_PATTERN = re.compile("[\\x00\\ud800-\\udfff]")
_BYTE_ORDER_MARK = b"\xef\xbb\xbf"
Slot = tuple[str, Any]
"""An id with a presentation or a hypothesis; in submissions, an id with None."""
Value = TypeVar("Value")


def read_slots(
    file: Iterable[bytes],
    name: str,
    slots: Sequence[Slot],
    slot_name: Callable[[Mapping[str, Any], str], Any],
    parse: Callable[[Mapping[str, Any], str, Slot], Value],
    *,
    id_field: str = "id",
) -> list[Value]:
    """Return the value of each slot, in their order; each has exactly one line.

    Args:
        slot_name: returns a line's presentation or hypothesis. parse: returns its value. Both get the line and its
            location, and raise InvalidInput.
    """
    known = {slot[0] for slot in slots}
    values: dict[Slot, Value] = {}
    lines: dict[Slot, int] = {}
    for number, record in _iterate_records(file, name):
        location = f"{name}: line {number}"
        key = _parse_id(record, location, id_field)
        if key not in known:
            raise InvalidInput(
                f"{location}: {id_field} {key!r:.60} is not in the answer key; remove the line"
            )
        slot = (key, slot_name(record, location))
        if slot in lines:
            raise InvalidInput(
                f"{location}: {_describe(slot)} is on line {lines[slot]} too; keep one of them"
            )
        lines[slot] = number
        values[slot] = parse(record, location, slot)
    if not lines:
        raise InvalidInput(f"{name}: is empty; give one JSON object per line")
    if len(values) != len(slots):
        missing = [_describe(slot) for slot in slots if slot not in values]
        more = f" and {len(missing) - 1} more" if len(missing) > 1 else ""
        raise InvalidInput(
            f"{name}: no line for {missing[0]}{more}; give one for each, null if there is no answer"
        )
    return [values[slot] for slot in slots]


def _iterate_records(file: Iterable[bytes], name: str) -> Iterator[tuple[int, dict[str, Any]]]:
    """Yield the number and the JSON object of each line; empty lines are skipped."""
    for number, data in enumerate(file, start=1):
        line = data.removeprefix(_BYTE_ORDER_MARK).strip() if number == 1 else data.strip()
        if not line:
            continue
        record = parse_json(line, f"{name}: line {number}")
        if not isinstance(record, dict):
            raise InvalidInput(f"{name}: line {number}: is not a JSON object; write one answer per line")
        yield number, record


def _parse_id(record: Mapping[str, Any], location: str, field: str) -> str:
    """Return a line's id; a number such as 17 is the id "17"."""
    key = record.get(field)
    if type(key) not in {int, str} or key == "":
        raise InvalidInput(
            f"{location}: {field} is {show_field(record, field)}; give the id as in the answer key"
        )
    return str(key)


def parse_presentation(record: Mapping[str, Any], location: str) -> str:
    """Return a line's presentation. Raises InvalidInput that names line and field, as the functions below."""
    value = record.get("presentation")
    if not isinstance(value, str) or value not in PRESENTATIONS:
        found = show_field(record, "presentation")
        raise InvalidInput(f"{location}: presentation is {found}; use {' or '.join(PRESENTATIONS)}")
    return value


def parse_hypothesis(record: Mapping[str, Any], location: str) -> int:
    """Return the number of a line's hypothesis, 1 or 2."""
    value = record.get("hypothesis")
    if type(value) is not int or value not in HYPOTHESES:
        raise InvalidInput(f"{location}: hypothesis is {show_field(record, 'hypothesis')}; use 1 or 2")
    return value


def parse_choice(record: Mapping[str, Any], location: str) -> ChoiceCode:
    """Return the code of ``choice``, or of ``reason`` if the choice is null."""
    value = record.get("choice")
    if "choice" not in record or type(value) not in {int, str, type(None)} or value not in CODES:
        raise InvalidInput(f"{location}: choice is {show_field(record, 'choice')}; {_CHOICES_HINT}")
    code, reason = CODES[value], record.get("reason") or ""
    unread = [other.reason for other in UNREAD]
    if isinstance(reason, str):
        if reason in {"", code.reason}:
            return code
        if value is None and reason in unread:
            return ChoiceCode.from_names("", reason)
    hint = f"use {', '.join(unread)}" if value is None else "leave it out: the choice says it"
    raise InvalidInput(f"{location}: reason is {show_field(record, 'reason')}; {hint}")


def parse_score(record: Mapping[str, Any], location: str) -> float | None:
    """Return a line's score; null is a missing one."""
    value = record.get("score")
    if "score" in record and value is None:
        return None
    if not isinstance(value, int | float) or isinstance(value, bool) or not abs(value) <= MAX_SCORE:
        found = show_field(record, "score")
        raise InvalidInput(f"{location}: score is {found}; give a finite number up to {MAX_SCORE:g}, or null")
    return float(value)


def parse_explanation(record: Mapping[str, Any], location: str) -> str:
    """Return a line's explanation, empty without one."""
    text = record.get("explanation")
    if text is not None and not isinstance(text, str):
        found = show_field(record, "explanation")
        raise InvalidInput(f"{location}: explanation is {found}; give a text or leave it out")
    if text and _UNSTORABLE_PATTERN.search(text):
        raise InvalidInput(
            f"{location}: explanation has characters that no text has; remove NUL and surrogates"
        )
    return text or ""


def show_field(record: Mapping[str, Any], field: str) -> str:
    """Return a field's value as the file has it, shortened; ``absent`` if it is not there."""
    if field not in record:
        return "absent"
    try:
        text = json.dumps(record[field])
    except RecursionError:
        return "nested too deeply"
    return text if len(text) <= MAX_SHOWN else f"{text[:MAX_SHOWN]}…"


def _describe(slot: Slot) -> str:
    key, other = slot
    if other is None:
        return repr(key)
    return f"{key!r}, {other if isinstance(other, str) else f'hypothesis {other}'}"


@contextmanager
def open_lines(path: Path) -> Iterator[IO[bytes]]:
    """Open a file for reading. Raises InvalidInput if that fails, also while it is read."""
    try:
        with path.open("rb") as file:
            yield file
    except OSError as error:
        raise InvalidInput(f"{path}: cannot be read ({error.strerror or error}); check the path") from error
