"""The ``${variables}`` of a page, and the columns or parameters with their values."""

import re
from bisect import bisect_right
from collections.abc import Callable, Collection, Mapping, Sequence
from dataclasses import dataclass

MAX_NAME = 128
_VARIABLE_PATTERN = re.compile(r"\$\{([A-Za-z0-9_.-]{1,128})\}")


@dataclass(frozen=True, slots=True)
class Variable:
    """The name of a variable and the line of its first use."""

    name: str
    line: int


@dataclass(frozen=True, slots=True)
class ColumnMatch:
    """The unmatched variables of a page and columns of its rows."""

    without_column: tuple[Variable, ...]
    without_variable: tuple[str, ...]


def find_variables(html: str) -> list[Variable]:
    """Return each variable once, in the order of first use. Names are letters, digits, dots, dashes, underscores."""
    line_at = line_finder(html)
    found: dict[str, Variable] = {}
    for match in _VARIABLE_PATTERN.finditer(html):
        if match[1] not in found:
            found[match[1]] = Variable(match[1], line_at(match.start()))
    return list(found.values())


def list_variable_uses(html: str) -> list[str]:
    """Return the name of each use of a variable, in the order of the page, with repetitions."""
    return [match[1] for match in _VARIABLE_PATTERN.finditer(html)]


def line_finder(text: str) -> Callable[[int], int]:
    """Return a fast function from a position in the text to its line."""
    ends = [match.start() for match in re.finditer("\n", text)]
    return lambda position: bisect_right(ends, position - 1) + 1


def match_columns(variables: Sequence[Variable], columns: Collection[str]) -> ColumnMatch:
    """Return the variables without a column, and the columns without a variable."""
    used = {variable.name for variable in variables}
    return ColumnMatch(
        without_column=tuple(variable for variable in variables if variable.name not in columns),
        without_variable=tuple(column for column in columns if column not in used),
    )


def fill_variables(html: str, values: Mapping[str, str]) -> str:
    """Return the page with each variable replaced by its unescaped value: cells may contain HTML, as on MTurk.

    So the result may be shown only in a sandboxed frame. A variable without a value stays, and variables within a
    value are not replaced.
    """
    return _VARIABLE_PATTERN.sub(lambda match: values.get(match[1], match[0]), html)
