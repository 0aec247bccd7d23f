"""Read a codebook that somebody wrote, strictly: what is not understood is refused with file and field.

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

from curation.audits.codebook import NO, YES, Choice, Code, Codebook, CodeKind, Condition, Published, Shows
from curation.records import InvalidInput

MOST_BYTES = 64_000
MOST_CODES, MOST_CHOICES, MOST_PUBLISHED = 20, 20, 100
SHORT, LONG = 160, 1000  # characters
FOLDER = Path(__file__).parent / "codebooks"
_NAME = re.compile(r"[a-z0-9][a-z0-9-]{0,39}")
_KEYS = "123456789"
_TAKEN_KEYS = frozenset("jkn")  # previous, next and the note on the reading page


def parse(text: str, name: str) -> Codebook:
    """Return the codebook written in ``text``: JSON where it begins with a brace, TOML otherwise.

    Args:
        name: what messages call it, such as the file's name.

    Raises:
        InvalidInput: what is wrong, in which field, and how to mend it.
    """
    if len(text.encode()) > MOST_BYTES:
        raise InvalidInput(f"{name}: over {MOST_BYTES:,} bytes; a codebook is a page or two")
    return read(_loaded(text, name), name)


def from_row(row: Mapping[str, Any]) -> Codebook:
    """Return the codebook that ``Codebook.as_row`` wrote."""
    return read(row, "codebook")


def shipped() -> dict[str, Codebook]:
    """Return the codebooks that come with the platform, by id; those that read most pairs come first."""
    found = [parse(path.read_text("utf-8"), path.name) for path in FOLDER.glob("*.toml")]
    return {book.id: book for book in sorted(found, key=lambda book: (-(book.pairs or 0), book.id))}


def read(data: Any, name: str) -> Codebook:
    """Return the codebook that plain data holds, checked.

    Raises:
        InvalidInput: see ``parse``.
    """
    table = _Table(data, name)
    codes: list[Code] = []
    for row in table.tables("codes", MOST_CODES):
        codes.append(_code(row, codes))
    if not codes:
        raise InvalidInput(f"{name}: codes: there is none; write at least one [[codes]]")
    codebook = Codebook(
        id=table.name("id"),
        title=table.text("title", SHORT),
        version=table.number("version", least=1),
        source=table.text("source", LONG, default=""),
        intro=table.text("intro", LONG, default=""),
        shows=Shows(table.one_of("shows", [shows.value for shows in Shows], default=Shows.PAIR.value)),
        pairs=table.number("pairs", least=1) if table.has("pairs") else None,
        pairs_per_split=table.number("pairs_per_split", least=1) if table.has("pairs_per_split") else None,
        codes=tuple(codes),
        published=tuple(_published(row, codes) for row in table.tables("published", MOST_PUBLISHED)),
    )
    table.refuse_the_rest()
    return codebook


def _loaded(text: str, name: str) -> Any:
    try:
        return json.loads(text) if text.lstrip().startswith("{") else tomllib.loads(text)
    except tomllib.TOMLDecodeError as error:
        raise InvalidInput(f"{name}: no TOML: {error}") from error
    except ValueError as error:
        raise InvalidInput(f"{name}: no JSON: {error}") from error
    except RecursionError as error:
        raise InvalidInput(f"{name}: nested too deeply; a codebook has four levels") from error


def _code(table: "_Table", earlier: Sequence[Code]) -> Code:
    kind = CodeKind(table.one_of("kind", [kind.value for kind in CodeKind]))
    code = Code(
        id=table.new_name("id", [code.id for code in earlier]),
        question=table.text("question", LONG),
        help=table.text("help", LONG, default=""),
        kind=kind,
        choices=_choices(table, kind),
        asked_when=_condition(table, earlier),
    )
    table.refuse_the_rest()
    return code


def _choices(table: "_Table", kind: CodeKind) -> tuple[Choice, ...]:
    rows = list(table.tables("choices", MOST_CHOICES))
    choices: list[Choice] = []
    for row in rows:
        choices.append(_choice(row, kind, choices))
    if kind is CodeKind.YES_NO:
        if choices and [choice.value for choice in choices] != [YES, NO]:
            raise table.wrong(
                "choices", "a yes-no code has yes, then no", 'leave them out or use "yes", "no"'
            )
        choices = choices or [Choice(YES, "Yes"), Choice(NO, "No")]
    if len(choices) < 2:  # noqa: PLR2004 - nothing to choose from
        raise table.wrong("choices", f"there is {len(choices) or 'none'}", "give two or more")
    return _with_keys(choices, table)


def _choice(row: "_Table", kind: CodeKind, earlier: Sequence[Choice]) -> Choice:
    choice = Choice(
        value=row.new_name("value", [choice.value for choice in earlier]),
        words=row.text("words", SHORT),
        help=row.text("help", LONG, default=""),
        key=row.text("key", 1, default=""),
        alone=row.flag("alone"),
    )
    if choice.alone and kind is not CodeKind.MULTIPLE:
        raise row.wrong("alone", "only codes of kind multiple have it", "leave it out")
    if choice.key and (not choice.key.isalnum() or choice.key.lower() in _TAKEN_KEYS):
        raise row.wrong("key", f"{choice.key!r} is not free", "use a digit or a letter other than j, k, n")
    row.refuse_the_rest()
    return choice


def _with_keys(choices: Sequence[Choice], table: "_Table") -> tuple[Choice, ...]:
    """Give the digits to choices without a key, in their order."""
    taken = [choice.key.lower() for choice in choices if choice.key]
    if len(taken) != len(set(taken)):
        raise table.wrong("choices", "two have the same key", "give each its own")
    free = iter(key for key in _KEYS if key not in taken)
    return tuple(choice if choice.key else replace(choice, key=next(free, "")) for choice in choices)


def _condition(table: "_Table", earlier: Sequence[Code]) -> Condition | None:
    if not table.has("asked_when"):
        return None
    inner = table.table("asked_when")
    asked = inner.one_of("code", [code.id for code in earlier])
    known = next(code.values for code in earlier if code.id == asked)
    values = inner.names("is")
    unknown = [value for value in values if value not in known]
    if unknown or not values:
        found = repr(unknown[0]) if unknown else "nothing"
        raise inner.wrong("is", f"{found} is no value of {asked}", f"use {', '.join(known)}")
    inner.refuse_the_rest()
    return Condition(asked, tuple(values))


def _published(row: "_Table", codes: Iterable[Code]) -> Published:
    values = {code.id: code.values for code in codes}
    code = row.one_of("code", list(values))
    figure = Published(
        code=code,
        value=row.one_of("value", list(values[code])),
        words=row.text("words", LONG),
        count=row.number("count", least=0) if row.has("count") else None,
        of=row.number("of", least=1) if row.has("of") else None,
    )
    if (figure.count is None) != (figure.of is None):
        raise row.wrong("of", "a count needs its whole", "give both, count and of, or neither")
    if figure.count is not None and figure.of is not None and figure.count > figure.of:
        raise row.wrong("count", f"{figure.count} is more than its whole, {figure.of}", "correct one of them")
    row.refuse_the_rest()
    return figure


@dataclass(slots=True)
class _Table:
    """One table of the file: hands out fields checked, and knows where it stands for messages."""

    data: Any
    where: str
    seen: set[str] = field(default_factory=set)

    def __post_init__(self) -> None:
        if not isinstance(self.data, Mapping):
            raise InvalidInput(f"{self.where}: is {_kind_of(self.data)}; write a table of fields")

    def wrong(self, name: str, what: str, mend: str) -> InvalidInput:
        """Return the error about one field."""
        return InvalidInput(f"{self._at(name)}: {what}; {mend}")

    def has(self, name: str) -> bool:
        """Tell whether the field is there."""
        return name in self.data

    def text(self, name: str, most: int, default: str | None = None) -> str:
        """Return a text without space around it; only one with a default may be missing or empty."""
        value = self._take(name, default)
        if not isinstance(value, str):
            raise self.wrong(name, f"is {_kind_of(value)}", "write a text in quotes")
        value = value.strip()
        if not value and default is None:
            raise self.wrong(name, "is empty", "write something")
        if len(value) > most:
            raise self.wrong(name, f"has {len(value)} characters", f"use {most} or fewer")
        return value

    def name(self, name: str) -> str:
        """Return a short name of small letters, digits and hyphens."""
        value = self.text(name, SHORT)
        if not _NAME.fullmatch(value):
            raise self.wrong(name, f"{value!r} is no name", "use a to z, 0 to 9 and -, at most 40")
        return value

    def new_name(self, name: str, taken: Sequence[str]) -> str:
        """Return a short name that is not among those taken."""
        value = self.name(name)
        if value in taken:
            raise self.wrong(name, f"{value!r} is there already", "give each its own")
        return value

    def names(self, name: str) -> list[str]:
        """Return a list of texts."""
        value = self._take(name, None)
        if not isinstance(value, list) or not all(isinstance(one, str) for one in value):
            raise self.wrong(name, f"is {_kind_of(value)}", 'write a list of texts, such as ["yes"]')
        return value

    def one_of(self, name: str, known: Sequence[str], default: str | None = None) -> str:
        """Return a text that is among those known."""
        value = self.text(name, SHORT, default)
        if value not in known:
            raise self.wrong(name, f"{value!r} is not known", f"use {', '.join(known) or 'none here'}")
        return value

    def number(self, name: str, *, least: int) -> int:
        """Return a whole number of at least ``least``."""
        value = self._take(name, None)
        if not isinstance(value, int) or isinstance(value, bool):
            raise self.wrong(name, f"is {_kind_of(value)}", "write a whole number")
        if not least <= value < 2**31:
            raise self.wrong(name, f"{value} is out of range", f"use {least} or more")
        return value

    def flag(self, name: str) -> bool:
        """Return true or false; false where it is missing."""
        value = self._take(name, False)
        if not isinstance(value, bool):
            raise self.wrong(name, f"is {_kind_of(value)}", "write true or false")
        return value

    def table(self, name: str) -> "_Table":
        """Return the table of that name."""
        return _Table(self._take(name, None), self._at(name))

    def tables(self, name: str, most: int) -> "Iterable[_Table]":
        """Return the tables of a list, none where it is missing; places in messages count from 1."""
        rows = self._take(name, [])
        if not isinstance(rows, list):
            raise self.wrong(name, f"is {_kind_of(rows)}", f"write a list, as [[{name}]]")
        if len(rows) > most:
            raise self.wrong(name, f"has {len(rows)} entries", f"use {most} or fewer")
        return [_Table(row, self._at(f"{name}[{place}]")) for place, row in enumerate(rows, start=1)]

    def refuse_the_rest(self) -> None:
        """Refuse the fields that nobody asked for: most are slips of the pen."""
        unknown = sorted(str(name) for name in self.data if name not in self.seen)
        if unknown:
            raise self.wrong(unknown[0][:SHORT], "is not known", f"use {', '.join(sorted(self.seen))}")

    def _take(self, name: str, default: Any) -> Any:
        self.seen.add(name)
        if name in self.data:
            return self.data[name]
        if default is None:
            raise self.wrong(name, "is missing", "add it")
        return default

    def _at(self, name: str) -> str:
        return f"{self.where}: {name}" if ":" not in self.where else f"{self.where}.{name}"


def _kind_of(value: Any) -> str:
    words = {str: "a text", bool: "true or false", list: "a list", dict: "a table", type(None): "nothing"}
    return words.get(type(value), "a number" if isinstance(value, int | float) else "something else")
