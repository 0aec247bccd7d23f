"""The judgments read from files, and the checks that all file formats share."""

import json
from collections import Counter
from collections.abc import Mapping
from dataclasses import dataclass
from typing import Any

MAX_ID_LENGTH = 64


class JudgmentFileError(ValueError):
    """A file cannot be read as judgments; the message names row and field, and how to correct it."""


@dataclass(frozen=True, slots=True)
class ParsedJudgment:
    """One rater's answer to one item in the kind's format. ``rater`` is the name in the file, not yet a hash."""

    item: str
    rater: str
    answer: Mapping[str, Any]
    seconds: float | None = None


def parse_json(text: str) -> Any:
    """Return the value of a JSON text.

    Raises:
        JudgmentFileError: invalid JSON, nested too deeply, a number of thousands of digits, or a repeated key.
    """

    def build_dict_with_unique_keys(pairs: list[tuple[str, Any]]) -> dict[str, Any]:
        value = dict(pairs)
        if len(value) != len(pairs):
            repeated = [key for key, count in Counter(key for key, _ in pairs).items() if count > 1]
            raise JudgmentFileError(f"{repeated[0]!r} occurs twice in one object; keep one")
        return value

    try:
        return json.loads(text, object_pairs_hook=build_dict_with_unique_keys)
    except json.JSONDecodeError as error:
        raise JudgmentFileError(
            f"line {error.lineno}: invalid JSON ({error.msg}); correct the file"
        ) from error
    except JudgmentFileError:
        raise
    except ValueError as error:
        raise JudgmentFileError(f"invalid JSON ({error}); correct the file") from error
    except RecursionError as error:
        raise JudgmentFileError("nested too deeply; use the leaderboard's answer key format") from error


def read_id(entry: Any, name: str, where: str) -> str:
    """Return an entry's id under ``name``; ``where`` names the entry in the message."""
    value = entry.get(name) if isinstance(entry, dict) else None
    if not isinstance(value, str) or not value:
        raise JudgmentFileError(f"{where}.{name}: is missing or not text; add it")
    return validate_id(value, f"{where}.{name}")


def validate_id(value: str, where: str) -> str:
    """Return the id if it fits URLs and files, or raise; a slash would separate set and candidate."""
    if len(value) > MAX_ID_LENGTH:
        raise JudgmentFileError(
            f"{where}: has {len(value)} characters; an id has at most {MAX_ID_LENGTH}, shorten it"
        )
    if not value.isprintable() or value != value.strip() or "/" in value or value in {".", ".."}:
        raise JudgmentFileError(
            f"{where}: {value!r} is not an id; use visible characters, no slash, and no space at either end"
        )
    return value
