"""The names of the published table's columns: a map from our fields, which says of each whether it was verified."""

import tomllib
from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from functools import cache
from pathlib import Path
from typing import Any

from curation.records import InvalidInput

DEFAULT_FILE = Path(__file__).with_name("columns.toml")
IMAGE_FIELDS = ("premise_image", "hypothesis1_image", "hypothesis2_image")
_KEYS = frozenset({"name", "verified", "required", "aliases"})


@dataclass(frozen=True, slots=True)
class Column:
    """A column by our field: its published name, whether that was read in the release, and names accepted instead."""

    field: str
    name: str
    is_verified: bool = False
    is_required: bool = True
    aliases: tuple[str, ...] = ()


@dataclass(frozen=True, slots=True)
class ColumnMap:
    """The columns in the order of the file."""

    columns: tuple[Column, ...]

    @property
    def header(self) -> list[str]:
        """The published names in order."""
        return [column.name for column in self.columns]

    @property
    def unverified(self) -> list[str]:
        """The names that nobody could read in the published release."""
        return [column.name for column in self.columns if not column.is_verified]

    def positions(self, header: Sequence[str], file: str) -> tuple[dict[str, int], list[str]]:
        """Return the position of each field in a file's header, and the columns that no field reads.

        Raises:
            InvalidInput: a needed column is missing; the message has the header that was found.
        """
        plain = [name.strip().lower() for name in header]
        found: dict[str, int] = {}
        for column in self.columns:
            names = [column.name, *column.aliases]
            position = next((plain.index(name.lower()) for name in names if name.lower() in plain), None)
            if position is not None:
                found[column.field] = position
            elif column.is_required:
                raise InvalidInput(
                    f"{file}: has no column {column.name}; name it in the column map. The header is: "
                    f"{', '.join(header)[:400] or 'empty'}"
                )
        unread = [name for position, name in enumerate(header) if position not in found.values()]
        return found, unread


@cache
def default_columns() -> ColumnMap:
    """Return the built-in map."""
    return read_columns(DEFAULT_FILE)


def read_columns(path: Path) -> ColumnMap:
    """Return a map from a TOML file of the same form as the built-in one; fields that it leaves out keep their names.

    Raises:
        InvalidInput: the file cannot be read, or a field, key or name is wrong.
    """
    try:
        raw = tomllib.loads(path.read_text("utf-8"))
    except (OSError, ValueError, RecursionError) as error:
        raise InvalidInput(
            f"{path.name}: is no readable TOML file ({str(error)[:120]}); copy columns.toml"
        ) from error
    known = {column.field: column for column in default_columns().columns} if path != DEFAULT_FILE else {}
    if known and (unknown := sorted(set(raw) - set(known))):
        raise InvalidInput(f"{path.name}: [{unknown[0]}] is no field; use {', '.join(known)}")
    columns = {
        **known,
        **{field: _column(path, field, entry, known.get(field)) for field, entry in raw.items()},
    }
    names = [column.name for column in columns.values()]
    repeated = sorted({name for name in names if names.count(name) > 1})
    if repeated:
        raise InvalidInput(f"{path.name}: two fields are called {repeated[0]}; give each a name of its own")
    return ColumnMap(tuple(columns.values()))


def _column(path: Path, field: str, entry: Any, built_in: Column | None) -> Column:
    """Return the column of an entry; what it leaves out is as in the built-in map."""
    where = f"{path.name}: [{field}]"
    if not isinstance(entry, Mapping):
        raise InvalidInput(f"{where}: is no table; write [{field}] and name = …")
    unknown = sorted(set(entry) - _KEYS)
    if unknown:
        raise InvalidInput(f"{where}: {unknown[0]} is not known; use {', '.join(sorted(_KEYS))}")
    name, aliases = entry.get("name", ""), entry.get("aliases", list(built_in.aliases) if built_in else [])
    if not isinstance(name, str) or not name.strip() or not name.isprintable():
        raise InvalidInput(f"{where}: needs a name of one line")
    if not isinstance(aliases, list) or not all(isinstance(alias, str) for alias in aliases):
        raise InvalidInput(f"{where}: aliases is no list of names")
    is_required = built_in is None or built_in.is_required
    flags = {
        key: entry.get(key, default) for key, default in (("verified", False), ("required", is_required))
    }
    for key, value in flags.items():
        if not isinstance(value, bool):
            raise InvalidInput(f"{where}: {key} is {value!r}; write true or false")
    if built_in is not None and is_required and not flags["required"]:
        raise InvalidInput(f"{where}: required is false, but no triplet can do without it; remove the line")
    return Column(field, name.strip(), flags["verified"], flags["required"], tuple(aliases))
