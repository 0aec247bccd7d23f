"""The leaderboard's answer key, read as judgments of comparison sets.

A key, as the published leaderboard has it, is ``{"test_id_map": {id: {Input_iid, candidate}}, "annotations":
[{Input_iid, candidates: [{source_iid, annot1, annot2}]}]}``.
"""

from collections.abc import Iterator, Mapping
from typing import Any

from validation.domain.judging.judgment_rows import MAX_ID, FileError, Given, checked_id, text_of
from validation.domain.judging.spec import Dimension
from validation.domain.reports.judgment_files import number_on

ANNOTATORS = ("annot1", "annot2")


def from_key(raw: Any, rating: Dimension, *, made_up: bool = False) -> list[Given]:
    """Return both annotators' ratings of each instance of an answer key, the first annotator's first.

    Each rating keeps its test id, so that an exported key has the same ones. ``rating`` is the scale; ``made_up``:
    whether a key that says it is a rehearsal's is taken; only a rehearsal takes it.

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
        item = text_of(entry, "Input_iid", where)
        if item in seen:
            raise FileError(f"{where}.Input_iid: {item!r} stands twice; keep one entry for each instance")
        seen.add(item)
        found.extend(_of_instance(where, item, entry, test_ids, rating))
    if test_ids:
        (item, candidate), name = next(iter(test_ids.items()))
        raise FileError(
            f"test_id_map[{name!r}]: candidate {candidate!r} of {item!r} is rated nowhere in annotations; "
            "add its ratings, or take the entry out"
        )
    if not found:
        raise FileError("annotations is empty; there is nothing to import")
    return found


def _test_ids(raw: Mapping[str, Any]) -> dict[tuple[str, str], str]:
    found: dict[tuple[str, str], str] = {}
    for name, entry in raw.items():
        where = f"test_id_map[{name!r}]"
        pair = text_of(entry, "Input_iid", where), text_of(entry, "candidate", where)
        if pair in found:
            raise FileError(f"{where}: names the same candidate as {found[pair]!r}; keep one")
        if not name:
            raise FileError(f"{where}: a test id has 1 to {MAX_ID} characters; add it")
        checked_id(name, where)
        found[pair] = name
    return found


def _of_instance(
    where: str, item: str, entry: Mapping[str, Any], test_ids: dict[tuple[str, str], str], scale: Dimension
) -> Iterator[Given]:
    """Yield both annotators' answers; takes the test ids that it uses out of ``test_ids``."""
    candidates = entry.get("candidates")
    if not isinstance(candidates, list):
        raise FileError(f"{where}.candidates ({item!r}): is missing, or no list; add it")
    rated: dict[str, list[dict[str, Any]]] = {name: [] for name in ANNOTATORS}
    seen: set[str] = set()
    for index, row in enumerate(candidates):
        place = f"{where}.candidates[{index}]"
        source = text_of(row, "source_iid", place)
        if source in seen:
            raise FileError(f"{place}.source_iid: {source!r} of {item!r} stands twice; keep one")
        seen.add(source)
        test_id = test_ids.pop((item, source), None)
        if test_id is None:
            raise FileError(f"{place}.source_iid: {source!r} of {item!r} is not in test_id_map; add it there")
        for name in ANNOTATORS:
            given = number_on(scale, row.get(name), f"{place}.{name}")
            rated[name].append({"candidate": source, "rating": given, "test_id": test_id})
    for name in ANNOTATORS:
        yield Given(item, name, {"ratings": rated[name]})
