"""A trainer's remarks on an attempt: each is about a box, a field of a card, a card, or the whole attempt."""

from collections.abc import Mapping
from typing import Any

from hits.domain.answers.text import TextError, clean_line

MAX_REMARKS = 40
MAX_REMARK_LENGTH = 1000
MAX_SUMMARY_LENGTH = 2000
CARD_FIELDS = ("clue", "boxes", "inference", "confidence")
_KEYS = ("observation", "part", "box", "text")


class RemarkError(ValueError):
    """An invalid remark; the message names the field."""


def parse_remarks(raw: Any, boxes: Mapping[int, int]) -> list[dict[str, Any]]:
    """Return the normalized remarks, in order.

    Args:
        raw: rows of ``{"observation", "part", "box", "text"}``; keys that do not apply are null or missing.
        boxes: the number of boxes of each observation, by its number.

    Raises:
        RemarkError: not a list, too many, an unknown key, no text, or a target that the answer does not have.
    """
    if not isinstance(raw, list | tuple):
        raise RemarkError("remarks: send a list")
    if len(raw) > MAX_REMARKS:
        raise RemarkError(f"remarks: got {len(raw)}; write {MAX_REMARKS} or fewer")
    return [_parse_remark(row, f"remarks[{index}]", boxes) for index, row in enumerate(raw)]


def _parse_remark(row: Any, path: str, boxes: Mapping[int, int]) -> dict[str, Any]:
    if not isinstance(row, Mapping) or not set(row) <= set(_KEYS):
        raise RemarkError(f"{path}: send {', '.join(_KEYS)} and nothing else")
    observation, part, box = (row.get(key) for key in _KEYS[:3])
    if not (observation is None or (type(observation) is int and observation in boxes)):
        known = ", ".join(str(number) for number in sorted(boxes))
        raise RemarkError(f"{path}.observation: use one of the answer's ({known}), or null for the whole")
    if not (part is None or part in CARD_FIELDS):
        raise RemarkError(f"{path}.part: use {', '.join(CARD_FIELDS)}, or null for the whole card")
    if part is not None and observation is None:
        raise RemarkError(f"{path}.part: name the observation that it belongs to")
    if box is not None:
        _check_box(box, f"{path}.box", part, boxes.get(observation, 0) if observation is not None else 0)
    return {"observation": observation, "part": part, "box": box, "text": _parse_text(row.get("text"), path)}


def _check_box(box: Any, path: str, part: Any, count: int) -> None:
    if part != "boxes":
        raise RemarkError(f'{path}: a remark on a box has the part "boxes"')
    if type(box) is not int or not 1 <= box <= count:
        raise RemarkError(f"{path}: use a number from 1 to {count}, the boxes of this observation")


def _parse_text(raw: Any, path: str) -> str:
    text = clean_lines(raw, maximum=MAX_REMARK_LENGTH, path=f"{path}.text")
    if not text:
        raise RemarkError(f"{path}.text: write the remark, or leave the row out")
    return text


def clean_lines(raw: Any, *, maximum: int, path: str) -> str:
    """Return a text with each line normalized, without empty lines at its ends.

    Raises:
        RemarkError: not a text, control characters, or longer than ``maximum``.
    """
    if not isinstance(raw, str):
        raise RemarkError(f"{path}: send a text")
    try:
        text = "\n".join(clean_line(line, maximum=maximum) for line in raw.splitlines()).strip()
    except TextError as error:
        raise RemarkError(f"{path}: {error}") from error
    if len(text) > maximum:
        raise RemarkError(f"{path}: has {len(text)} characters: use {maximum} or fewer")
    return text
