"""Files of judgments as plain answers: the leaderboard's answer key, and rows of one rating each.

A key, as the published leaderboard has it, is ``{"test_id_map": {id: {Input_iid, candidate}}, "annotations":
[{Input_iid, candidates: [{source_iid, annot1, annot2}]}]}``. Rows are what the report page exports: kind, item,
dimension, label, rater, and the seconds that the whole answer took.
"""

import json
from collections import Counter
from collections.abc import Iterable, Iterator, Mapping, Sequence
from dataclasses import dataclass
from typing import Any

from validation.domain.scales import SCALES, Dimension, Rating

REVIEW, COMPARISON, MATCHING = "observation_review", "likert_comparison", "localization_match"
ANNOTATORS = ("annot1", "annot2")
NEEDED = ("item", "dimension", "label", "rater")
MAX_ID = 64
MAX_RATER = 200
MADE_UP = ("1", "true")
_DIMENSIONS = {REVIEW: tuple(d.value for d in Dimension), COMPARISON: ("rating",), MATCHING: ("match",)}


class FileError(ValueError):
    """A file that cannot be read as judgments; the message names row and field, and the mend."""


@dataclass(frozen=True, slots=True)
class Given:
    """One rater's answer to one item, as the kind tidies it. ``rater`` is the file's own word, not a hash yet."""

    item: str
    rater: str
    answer: Mapping[str, Any]
    seconds: float | None = None


def parse_json(text: str) -> Any:
    """Return the value of a JSON text.

    Raises:
        FileError: no JSON, nested too deeply, a number of thousands of digits, or an object that names a key twice.
    """

    def unique(pairs: list[tuple[str, Any]]) -> dict[str, Any]:
        found = dict(pairs)
        if len(found) != len(pairs):
            twice = [key for key, count in Counter(key for key, _ in pairs).items() if count > 1]
            raise FileError(f"{twice[0]!r} stands twice in one object; keep one")
        return found

    try:
        return json.loads(text, object_pairs_hook=unique)
    except json.JSONDecodeError as error:
        raise FileError(f"line {error.lineno}: no valid JSON ({error.msg}); write it again") from error
    except FileError:
        raise
    except ValueError as error:
        raise FileError(f"no valid JSON ({error}); write it again") from error
    except RecursionError as error:
        raise FileError("nested too deeply; write an answer key as the leaderboard has it") from error


def from_key(raw: Any, *, made_up: bool = False) -> list[Given]:
    """Return both annotators' ratings of each instance of an answer key, the first annotator's first.

    Each rating keeps its test id, so that an exported key has the same ones. ``made_up``: whether a key that says it
    is a rehearsal's is taken; only a rehearsal takes it.

    Raises:
        FileError: an entry that is malformed or stands twice, a rating that is not 1, 2 or 3, a candidate without a
            test id, or a test id without a candidate.
    """
    if not isinstance(raw, dict) or not isinstance(raw.get("test_id_map"), dict):
        raise FileError("test_id_map is missing; an answer key has test_id_map and annotations")
    if raw.get("rehearsal") and not made_up:
        raise FileError("rehearsal: scripts may have made it up; only a rehearsal project takes it")
    if not isinstance(raw.get("annotations"), list):
        raise FileError("annotations is missing, or no list; an answer key has test_id_map and annotations")
    test_ids = _test_ids(raw["test_id_map"])
    found: list[Given] = []
    seen: set[str] = set()
    for index, entry in enumerate(raw["annotations"]):
        where = f"annotations[{index}]"
        item = _text(entry, "Input_iid", where)
        if item in seen:
            raise FileError(f"{where}.Input_iid: {item!r} stands twice; keep one entry for each instance")
        seen.add(item)
        found.extend(_of_instance(where, item, entry, test_ids))
    if test_ids:
        (item, candidate), name = next(iter(test_ids.items()))
        raise FileError(
            f"test_id_map[{name!r}]: candidate {candidate!r} of {item!r} is rated nowhere in annotations; "
            "add its ratings, or take the entry out"
        )
    if not found:
        raise FileError("annotations is empty; there is nothing to import")
    return found


def from_rows(
    rows: Iterable[tuple[int, Mapping[str, Any]]], kind: str, *, made_up: bool = False
) -> list[Given]:
    """Return the answers that rows of one rating each make up, in the order of their first row.

    Args:
        rows: (number in the file, values by column). A kind or a batch of another kind in a row is refused.
        made_up: whether rows marked as simulated are taken; only a rehearsal takes them.

    Raises:
        FileError: a value that is missing or not on the scale, a rating that stands twice, an answer that lacks one
            of its dimensions, a simulated row that is not to be taken.
    """
    answers: dict[tuple[str, str], dict[tuple[str, str], str]] = {}
    first: dict[tuple[str, str], tuple[int, float | None]] = {}
    for number, row in rows:
        where = f"row {number}"
        values = {name: _cell(row, name, where) for name in NEEDED}
        told = str(row.get("kind") or kind)
        if told != kind:
            raise FileError(f"{where}, kind: {told!r}; this import is of {kind}, keep only its rows")
        if not made_up and str(row.get("simulated") or "").strip().casefold() in MADE_UP:
            raise FileError(f"{where}, simulated: a script made it up; only a rehearsal project takes it")
        item, part = _place(values["item"], kind, where)
        label = _label(values["dimension"], values["label"], kind, where)
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
        Given(item, rater, _answer(kind, given, first[item, rater][0]), first[item, rater][1])
        for (item, rater), given in answers.items()
    ]


def _test_ids(raw: Mapping[str, Any]) -> dict[tuple[str, str], str]:
    found: dict[tuple[str, str], str] = {}
    for name, entry in raw.items():
        where = f"test_id_map[{name!r}]"
        pair = _text(entry, "Input_iid", where), _text(entry, "candidate", where)
        if pair in found:
            raise FileError(f"{where}: names the same candidate as {found[pair]!r}; keep one")
        if not name:
            raise FileError(f"{where}: a test id has 1 to {MAX_ID} characters; add it")
        _id(name, where)
        found[pair] = name
    return found


def _of_instance(
    where: str, item: str, entry: Mapping[str, Any], test_ids: dict[tuple[str, str], str]
) -> Iterator[Given]:
    """Yield both annotators' answers; takes the test ids that it uses out of ``test_ids``."""
    candidates = entry.get("candidates")
    if not isinstance(candidates, list):
        raise FileError(f"{where}.candidates ({item!r}): is missing, or no list; add it")
    rated: dict[str, list[dict[str, Any]]] = {name: [] for name in ANNOTATORS}
    seen: set[str] = set()
    for index, row in enumerate(candidates):
        place = f"{where}.candidates[{index}]"
        source = _text(row, "source_iid", place)
        if source in seen:
            raise FileError(f"{place}.source_iid: {source!r} of {item!r} stands twice; keep one")
        seen.add(source)
        test_id = test_ids.pop((item, source), None)
        if test_id is None:
            raise FileError(f"{place}.source_iid: {source!r} of {item!r} is not in test_id_map; add it there")
        for name in ANNOTATORS:
            rating = _rating(row.get(name), f"{place}.{name}")
            rated[name].append({"candidate": source, "rating": rating, "test_id": test_id})
    for name in ANNOTATORS:
        yield Given(item, name, {"ratings": rated[name]})


def _text(entry: Any, name: str, where: str) -> str:
    value = entry.get(name) if isinstance(entry, dict) else None
    if not isinstance(value, str) or not value:
        raise FileError(f"{where}.{name}: is missing, or no text; add it")
    return _id(value, f"{where}.{name}")


def _id(value: str, where: str) -> str:
    """Return an id that pages, addresses and files can name; a slash would part a set from its candidate."""
    if len(value) > MAX_ID:
        raise FileError(f"{where}: has {len(value)} characters; an id has at most {MAX_ID}, shorten it")
    if not value.isprintable() or value != value.strip() or "/" in value or value in {".", ".."}:
        raise FileError(
            f"{where}: {value!r} is no id; use visible characters without a slash, and no spaces around them"
        )
    return value


def _rating(value: Any, where: str) -> int:
    try:
        number = float("nan") if isinstance(value, bool) else float(value)
    except (TypeError, ValueError, OverflowError):
        number = float("nan")
    if number not in {float(rating) for rating in Rating}:
        raise FileError(f"{where}: {value!r} is no rating; use 1, 2 or 3")
    return int(number)


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


def _place(item: str, kind: str, where: str) -> tuple[str, str]:
    """Return the judgment's item and, where one answer rates several things, which of them."""
    if kind == REVIEW:
        place, part = item, ""
    else:
        place, _, part = item.rpartition("/")
        if not place or not part:
            raise FileError(f"{where}, item: {item!r} names no part; write it as set/candidate")
        _id(part, f"{where}, item")
    return _id(place, f"{where}, item"), part


def _label(dimension: str, label: str, kind: str, where: str) -> str:
    known: Sequence[str] = _DIMENSIONS[kind]
    if dimension not in known:
        raise FileError(f"{where}, dimension: {dimension!r} is not one of {kind}; use {', '.join(known)}")
    if kind == REVIEW:
        scale = [str(word) for word in SCALES[Dimension(dimension)]]
    elif kind == COMPARISON:
        return str(_rating(label, f"{where}, label"))
    else:
        return _id(label, f"{where}, label")
    if label not in scale:
        raise FileError(f"{where}, label: {label!r} is not on the scale; use {', '.join(scale)}")
    return label


def _answer(kind: str, given: Mapping[tuple[str, str], str], number: int) -> dict[str, Any]:
    if kind == COMPARISON:
        return {"ratings": [{"candidate": part, "rating": int(label)} for (_, part), label in given.items()]}
    if kind == MATCHING:
        return {"matches": [{"inference": part, "region": label} for (_, part), label in given.items()]}
    missing = [name for name in _DIMENSIONS[kind] if (name, "") not in given]
    if missing:
        raise FileError(f"row {number}: the answer that begins here lacks {missing[0]}; add a row for it")
    return {name: given[name, ""] for name in _DIMENSIONS[kind]}
