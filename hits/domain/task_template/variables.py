"""The ``${variables}`` of a page, and the columns or parameters that fill them in."""

import re
from bisect import bisect_right
from collections.abc import Callable, Collection, Mapping, Sequence
from dataclasses import dataclass

MAX_NAME = 128
_VARIABLE = re.compile(r"\$\{([A-Za-z0-9_.-]{1,128})\}")


@dataclass(frozen=True, slots=True)
class Variable:
    """A variable's name, and the line of its first use."""

    name: str
    line: int


@dataclass(frozen=True, slots=True)
class ColumnMatch:
    """What does not fit between a page and its rows."""

    without_column: tuple[Variable, ...]
    without_variable: tuple[str, ...]


def find_variables(html: str) -> list[Variable]:
    """Return each variable once, in the order of first use. Names are letters, digits, dots, dashes, underscores."""
    line_at = line_finder(html)
    found: dict[str, Variable] = {}
    for match in _VARIABLE.finditer(html):
        if match[1] not in found:
            found[match[1]] = Variable(match[1], line_at(match.start()))
    return list(found.values())


def variable_names(html: str) -> list[str]:
    """Return the name of each use of a variable, in the order of the page; one used twice stands there twice."""
    return [match[1] for match in _VARIABLE.finditer(html)]


def line_finder(text: str) -> Callable[[int], int]:
    """Return a function from a place in the text to its line; quick however often it is asked."""
    ends = [match.start() for match in re.finditer("\n", text)]
    return lambda place: bisect_right(ends, place - 1) + 1


def match_columns(variables: Sequence[Variable], columns: Collection[str]) -> ColumnMatch:
    """Return the variables that no column fills in, and the columns that no variable uses."""
    used = {variable.name for variable in variables}
    return ColumnMatch(
        without_column=tuple(variable for variable in variables if variable.name not in columns),
        without_variable=tuple(column for column in columns if column not in used),
    )


def fill_in(html: str, values: Mapping[str, str]) -> str:
    """Return the page with each variable replaced by its value, as it stands: a cell may hold HTML, as on Amazon's.

    What it yields is therefore shown in a frame without rights only. A variable without a value stays as it is, and
    what a value brings along is not filled in again.
    """
    return _VARIABLE.sub(lambda match: values.get(match[1], match[0]), html)
