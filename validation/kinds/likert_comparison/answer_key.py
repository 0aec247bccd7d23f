"""Parse the leaderboard's answer key into judgments of comparison sets.

The published format is ``{"test_id_map": {id: {Input_iid, candidate}}, "annotations": [{Input_iid, candidates:
[{source_iid, annot1, annot2}]}]}``.
"""

from collections.abc import Iterator, Mapping
from typing import Any

from validation.domain.judging.judgment_rows import (
    MAX_ID_LENGTH,
    JudgmentFileError,
    ParsedJudgment,
    read_id,
    validate_id,
)
from validation.domain.judging.spec import Dimension
from validation.domain.reports.judgment_files import parse_numeric_label

RATER_NAMES = ("annot1", "annot2")


def parse_answer_key(raw: Any, rating: Dimension, *, allow_simulated: bool = False) -> list[ParsedJudgment]:
    """Return both raters' ratings of each instance of an answer key, annot1's first.

    Each rating keeps its test id, so an exported key has the same ids.

    Args:
        rating: the scale. allow_simulated: whether to accept the key of a rehearsal; only a rehearsal does.

    Raises:
        JudgmentFileError: a malformed or repeated entry, a rating that is not 1, 2 or 3, a candidate without a test
            id, or a test id without a candidate.
    """
    if not isinstance(raw, dict) or not isinstance(raw.get("test_id_map"), dict):
        raise JudgmentFileError("test_id_map is missing; an answer key has test_id_map and annotations")
    if raw.get("rehearsal") and not allow_simulated:
        raise JudgmentFileError("rehearsal: its ratings may be simulated; import it into a rehearsal project")
    if not isinstance(raw.get("annotations"), list):
        raise JudgmentFileError(
            "annotations is missing or not a list; an answer key has test_id_map and annotations"
        )
    test_ids = _test_ids_by_candidate(raw["test_id_map"])
    judgments: list[ParsedJudgment] = []
    seen_items: set[str] = set()
    for index, entry in enumerate(raw["annotations"]):
        where = f"annotations[{index}]"
        item = read_id(entry, "Input_iid", where)
        if item in seen_items:
            raise JudgmentFileError(
                f"{where}.Input_iid: {item!r} occurs twice; keep one entry for each instance"
            )
        seen_items.add(item)
        judgments.extend(_instance_judgments(where, item, entry, test_ids, rating))
    if test_ids:
        (item, candidate), name = next(iter(test_ids.items()))
        raise JudgmentFileError(
            f"test_id_map[{name!r}]: candidate {candidate!r} of {item!r} has no ratings in annotations; "
            "add its ratings, or remove the entry"
        )
    if not judgments:
        raise JudgmentFileError("annotations is empty; there is nothing to import")
    return judgments


def _test_ids_by_candidate(raw: Mapping[str, Any]) -> dict[tuple[str, str], str]:
    test_ids: dict[tuple[str, str], str] = {}
    for name, entry in raw.items():
        where = f"test_id_map[{name!r}]"
        pair = read_id(entry, "Input_iid", where), read_id(entry, "candidate", where)
        if pair in test_ids:
            raise JudgmentFileError(f"{where}: names the same candidate as {test_ids[pair]!r}; keep one")
        if not name:
            raise JudgmentFileError(f"{where}: a test id has 1 to {MAX_ID_LENGTH} characters; add it")
        validate_id(name, where)
        test_ids[pair] = name
    return test_ids


def _instance_judgments(
    where: str, item: str, entry: Mapping[str, Any], test_ids: dict[tuple[str, str], str], scale: Dimension
) -> Iterator[ParsedJudgment]:
    """Yield both raters' answers; removes the test ids that it uses from ``test_ids``."""
    candidates = entry.get("candidates")
    if not isinstance(candidates, list):
        raise JudgmentFileError(f"{where}.candidates ({item!r}): is missing or not a list; add it")
    ratings: dict[str, list[dict[str, Any]]] = {name: [] for name in RATER_NAMES}
    seen: set[str] = set()
    for index, row in enumerate(candidates):
        path = f"{where}.candidates[{index}]"
        source = read_id(row, "source_iid", path)
        if source in seen:
            raise JudgmentFileError(f"{path}.source_iid: {source!r} of {item!r} occurs twice; keep one")
        seen.add(source)
        test_id = test_ids.pop((item, source), None)
        if test_id is None:
            raise JudgmentFileError(
                f"{path}.source_iid: {source!r} of {item!r} is not in test_id_map; add it there"
            )
        for name in RATER_NAMES:
            given = parse_numeric_label(scale, row.get(name), f"{path}.{name}")
            ratings[name].append({"candidate": source, "rating": given, "test_id": test_id})
    for name in RATER_NAMES:
        yield ParsedJudgment(item, name, {"ratings": ratings[name]})
