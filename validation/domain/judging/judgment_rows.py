"""What files of judgments are read into, and the checks that all of them share."""

import json
from collections import Counter
from collections.abc import Mapping
from dataclasses import dataclass
from typing import Any

MAX_ID = 64


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


def text_of(entry: Any, name: str, where: str) -> str:
    """Return an entry's id under ``name``; ``where`` names the entry in the message."""
    value = entry.get(name) if isinstance(entry, dict) else None
    if not isinstance(value, str) or not value:
        raise FileError(f"{where}.{name}: is missing, or no text; add it")
    return checked_id(value, f"{where}.{name}")


def checked_id(value: str, where: str) -> str:
    """Return an id that pages, addresses and files can name; a slash would part a set from its candidate."""
    if len(value) > MAX_ID:
        raise FileError(f"{where}: has {len(value)} characters; an id has at most {MAX_ID}, shorten it")
    if not value.isprintable() or value != value.strip() or "/" in value or value in {".", ".."}:
        raise FileError(
            f"{where}: {value!r} is no id; use visible characters without a slash, and no spaces around them"
        )
    return value
