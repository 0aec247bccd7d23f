"""Strict parsing of codebooks: anything unknown is refused, with the file and field in the message.

A codebook needs ``id``, ``title``, ``version`` and ``codes``; it may have ``source``, ``intro``, ``shows`` (pair,
clue or inference), ``pairs``, ``pairs_per_split`` and ``published``. A code has ``id``, ``question``, ``kind``
(single, multiple, yes-no), ``choices`` (``value``, ``words``, ``help``, ``key``, ``alone``), ``help`` and
``asked_when`` (``code``, ``is``).
"""

import json
import re
import tomllib
from collections.abc import Iterable, Mapping, Sequence
from dataclasses import dataclass, field, replace
from pathlib import Path
from typing import Any

from curation.audits.codebook import (
    NO,
    YES,
    Choice,
    Code,
    Codebook,
    CodeKind,
    Condition,
    PublishedFigure,
    ShownText,
)
from curation.records import InvalidInput

MAX_BYTES = 64_000
MAX_CODES, MAX_CHOICES, MAX_PUBLISHED = 20, 20, 100
MAX_SHORT_TEXT, MAX_LONG_TEXT = 160, 1000  # characters
CODEBOOK_FOLDER = Path(__file__).parent / "codebooks"
_NAME_PATTERN = re.compile(r"[a-z0-9][a-z0-9-]{0,39}")
_DIGIT_KEYS = "123456789"
_RESERVED_KEYS = frozenset("jkn")  # shortcuts for previous, next and the note on the labelling page


def parse_codebook(text: str, name: str) -> Codebook:
    """Parse a codebook: JSON if it starts with a brace, TOML otherwise.

    Args:
        name: its name in messages, such as the file's name.

    Raises:
        InvalidInput: the codebook is invalid; the message names the field and the remedy.
    """
    if len(text.encode()) > MAX_BYTES:
        raise InvalidInput(f"{name}: over {MAX_BYTES:,} bytes; shorten the codebook")
    return codebook_from_data(_load_toml_or_json(text, name), name)


def codebook_from_row(row: Mapping[str, Any]) -> Codebook:
    """Return the codebook that ``Codebook.as_row`` returned as JSON."""
    return codebook_from_data(row, "codebook")


def builtin_codebooks() -> dict[str, Codebook]:
    """Return the built-in codebooks by id, those with the largest samples first."""
    found = [parse_codebook(path.read_text("utf-8"), path.name) for path in CODEBOOK_FOLDER.glob("*.toml")]
    found.sort(key=lambda codebook: (-(codebook.pairs or 0), codebook.id))
    return {codebook.id: codebook for codebook in found}


def codebook_from_data(data: Any, name: str) -> Codebook:
    """Return the codebook that is given as parsed TOML or JSON.

    Raises:
        InvalidInput: the codebook is invalid; the message names the field and the remedy.
    """
    table = _TableReader(data, name)
    codes: list[Code] = []
    for row in table.tables("codes", MAX_CODES):
        codes.append(_parse_code(row, codes))
    if not codes:
        raise InvalidInput(f"{name}: codes: there are none; write at least one [[codes]]")
    codebook = Codebook(
        id=table.name("id"),
        title=table.text("title", MAX_SHORT_TEXT),
        version=table.number("version", minimum=1),
        source=table.text("source", MAX_LONG_TEXT, default=""),
        intro=table.text("intro", MAX_LONG_TEXT, default=""),
        shows=ShownText(
            table.one_of("shows", [shows.value for shows in ShownText], default=ShownText.PAIR.value)
        ),
        pairs=table.number("pairs", minimum=1) if table.has("pairs") else None,
        pairs_per_split=table.number("pairs_per_split", minimum=1) if table.has("pairs_per_split") else None,
        codes=tuple(codes),
        published=tuple(_parse_published(row, codes) for row in table.tables("published", MAX_PUBLISHED)),
    )
    table.refuse_unknown_fields()
    return codebook


def _load_toml_or_json(text: str, name: str) -> Any:
    try:
        return json.loads(text) if text.lstrip().startswith("{") else tomllib.loads(text)
    except tomllib.TOMLDecodeError as error:
        raise InvalidInput(f"{name}: not valid TOML: {error}") from error
    except ValueError as error:
        raise InvalidInput(f"{name}: not valid JSON: {error}") from error
    except RecursionError as error:
        raise InvalidInput(f"{name}: nested too deeply; a codebook has four levels") from error


def _parse_code(table: "_TableReader", earlier: Sequence[Code]) -> Code:
    kind = CodeKind(table.one_of("kind", [kind.value for kind in CodeKind]))
    code = Code(
        id=table.unique_name("id", [code.id for code in earlier]),
        question=table.text("question", MAX_LONG_TEXT),
        help=table.text("help", MAX_LONG_TEXT, default=""),
        kind=kind,
        choices=_parse_choices(table, kind),
        asked_when=_parse_condition(table, earlier),
    )
    table.refuse_unknown_fields()
    return code


def _parse_choices(table: "_TableReader", kind: CodeKind) -> tuple[Choice, ...]:
    rows = list(table.tables("choices", MAX_CHOICES))
    choices: list[Choice] = []
    for row in rows:
        choices.append(_parse_choice(row, kind, choices))
    if kind is CodeKind.YES_NO:
        if choices and [choice.value for choice in choices] != [YES, NO]:
            raise table.error(
                "choices", "a yes-no code has yes and no", 'use "yes", "no" or leave choices out'
            )
        choices = choices or [Choice(YES, "Yes"), Choice(NO, "No")]
    if len(choices) < 2:  # noqa: PLR2004 - nothing to choose from
        raise table.error("choices", f"there is {len(choices) or 'none'}", "give two or more")
    return _assign_shortcut_keys(choices, table)


def _parse_choice(row: "_TableReader", kind: CodeKind, earlier: Sequence[Choice]) -> Choice:
    choice = Choice(
        value=row.unique_name("value", [choice.value for choice in earlier]),
        words=row.text("words", MAX_SHORT_TEXT),
        help=row.text("help", MAX_LONG_TEXT, default=""),
        key=row.text("key", 1, default=""),
        alone=row.flag("alone"),
    )
    if choice.alone and kind is not CodeKind.MULTIPLE:
        raise row.error("alone", "only codes of kind multiple can have it", "leave it out")
    if choice.key and (not choice.key.isalnum() or choice.key.lower() in _RESERVED_KEYS):
        raise row.error("key", f"{choice.key!r} is not free", "use a digit or a letter other than j, k, n")
    row.refuse_unknown_fields()
    return choice


def _assign_shortcut_keys(choices: Sequence[Choice], table: "_TableReader") -> tuple[Choice, ...]:
    """Assign digits to choices without a key, in order."""
    used = [choice.key.lower() for choice in choices if choice.key]
    if len(used) != len(set(used)):
        raise table.error("choices", "two have the same key", "give each a different key")
    free = iter(key for key in _DIGIT_KEYS if key not in used)
    return tuple(choice if choice.key else replace(choice, key=next(free, "")) for choice in choices)


def _parse_condition(table: "_TableReader", earlier: Sequence[Code]) -> Condition | None:
    if not table.has("asked_when"):
        return None
    inner = table.table("asked_when")
    code_id = inner.one_of("code", [code.id for code in earlier])
    known = next(code.values for code in earlier if code.id == code_id)
    values = inner.texts("is")
    unknown = [value for value in values if value not in known]
    if unknown or not values:
        found = repr(unknown[0]) if unknown else "nothing"
        raise inner.error("is", f"{found} is not a value of {code_id}", f"use {', '.join(known)}")
    inner.refuse_unknown_fields()
    return Condition(code_id, tuple(values))


def _parse_published(row: "_TableReader", codes: Iterable[Code]) -> PublishedFigure:
    values = {code.id: code.values for code in codes}
    code = row.one_of("code", list(values))
    figure = PublishedFigure(
        code=code,
        value=row.one_of("value", list(values[code])),
        words=row.text("words", MAX_LONG_TEXT),
        count=row.number("count", minimum=0) if row.has("count") else None,
        of=row.number("of", minimum=1) if row.has("of") else None,
    )
    if (figure.count is None) != (figure.of is None):
        raise row.error("of", "a count needs a total", "give both, count and of, or neither")
    if figure.count is not None and figure.of is not None and figure.count > figure.of:
        raise row.error("count", f"{figure.count} is more than its total, {figure.of}", "correct one of them")
    row.refuse_unknown_fields()
    return figure


@dataclass(slots=True)
class _TableReader:
    """Validated access to a table's fields. ``path`` names it in messages; ``seen`` has the fields read so far."""

    data: Any
    path: str
    seen: set[str] = field(default_factory=set)

    def __post_init__(self) -> None:
        if not isinstance(self.data, Mapping):
            raise InvalidInput(f"{self.path}: is {_type_name(self.data)}; write a table of fields")

    def error(self, name: str, problem: str, advice: str) -> InvalidInput:
        """Return the error for a field."""
        return InvalidInput(f"{self._field_path(name)}: {problem}; {advice}")

    def has(self, name: str) -> bool:
        """Whether the field is present."""
        return name in self.data

    def text(self, name: str, max_length: int, default: str | None = None) -> str:
        """Return a stripped text; it may be missing or empty only if there is a default."""
        value = self._take(name, default)
        if not isinstance(value, str):
            raise self.error(name, f"is {_type_name(value)}", "write a text in quotes")
        value = value.strip()
        if not value and default is None:
            raise self.error(name, "is empty", "write something")
        if len(value) > max_length:
            raise self.error(name, f"has {len(value)} characters", f"use {max_length} or fewer")
        return value

    def name(self, name: str) -> str:
        """Return a short name of lower-case letters, digits and hyphens."""
        value = self.text(name, MAX_SHORT_TEXT)
        if not _NAME_PATTERN.fullmatch(value):
            raise self.error(name, f"{value!r} is not a valid name", "use a to z, 0 to 9 and -, at most 40")
        return value

    def unique_name(self, name: str, used: Sequence[str]) -> str:
        """Return a short name that is not in ``used``."""
        value = self.name(name)
        if value in used:
            raise self.error(name, f"{value!r} is a duplicate", "give each a different name")
        return value

    def texts(self, name: str) -> list[str]:
        """Return a list of texts."""
        value = self._take(name, None)
        if not isinstance(value, list) or not all(isinstance(item, str) for item in value):
            raise self.error(name, f"is {_type_name(value)}", 'write a list of texts, such as ["yes"]')
        return value

    def one_of(self, name: str, known: Sequence[str], default: str | None = None) -> str:
        """Return a text that is one of the known values."""
        value = self.text(name, MAX_SHORT_TEXT, default)
        if value not in known:
            raise self.error(name, f"{value!r} is not known", f"use {', '.join(known) or 'none'}")
        return value

    def number(self, name: str, *, minimum: int) -> int:
        """Return a whole number of at least ``minimum``."""
        value = self._take(name, None)
        if not isinstance(value, int) or isinstance(value, bool):
            raise self.error(name, f"is {_type_name(value)}", "write a whole number")
        if not minimum <= value < 2**31:
            raise self.error(name, f"{value} is out of range", f"use {minimum} or more")
        return value

    def flag(self, name: str) -> bool:
        """Return a flag; False if it is missing."""
        value = self._take(name, False)
        if not isinstance(value, bool):
            raise self.error(name, f"is {_type_name(value)}", "write true or false")
        return value

    def table(self, name: str) -> "_TableReader":
        """Return the table with this name."""
        return _TableReader(self._take(name, None), self._field_path(name))

    def tables(self, name: str, max_count: int) -> "Iterable[_TableReader]":
        """Return the tables of a list, empty if it is missing; positions in messages start at 1."""
        rows = self._take(name, [])
        if not isinstance(rows, list):
            raise self.error(name, f"is {_type_name(rows)}", f"write a list, as [[{name}]]")
        if len(rows) > max_count:
            raise self.error(name, f"has {len(rows)} entries", f"use {max_count} or fewer")
        return [
            _TableReader(row, self._field_path(f"{name}[{number}]"))
            for number, row in enumerate(rows, start=1)
        ]

    def refuse_unknown_fields(self) -> None:
        """Refuse unknown fields, which are usually typing errors."""
        unknown = sorted(str(name) for name in self.data if name not in self.seen)
        if unknown:
            raise self.error(
                unknown[0][:MAX_SHORT_TEXT], "is not known", f"use {', '.join(sorted(self.seen))}"
            )

    def _take(self, name: str, default: Any) -> Any:
        self.seen.add(name)
        if name in self.data:
            return self.data[name]
        if default is None:
            raise self.error(name, "is missing", "add it")
        return default

    def _field_path(self, name: str) -> str:
        return f"{self.path}: {name}" if ":" not in self.path else f"{self.path}.{name}"


def _type_name(value: Any) -> str:
    names = {str: "a text", bool: "true or false", list: "a list", dict: "a table", type(None): "nothing"}
    return names.get(type(value), "a number" if isinstance(value, int | float) else "something else")
