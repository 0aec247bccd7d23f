"""HIT layouts: pages with ``${variables}`` that HITs are made from by filling in values.

Which names a variable may have is said in one place for layouts and for the platform's own templates
(``hits.domain.task_template.variables``): both take the pages of Amazon's editor.

Values go in as they are, HTML included: that is how Amazon's layouts work ("values with reserved characters or
invalid HTML markup may result in an invalid HTMLQuestion document"), and requesters pass markup in them. It is safe
here because such a page runs in a sandboxed frame without an origin of its own.
"""

from __future__ import annotations

from collections.abc import Mapping

from hits.domain.mturk_formats.external_question import MAX_QUESTION_BYTES
from hits.domain.task_template.variables import fill_in, variable_names

MAX_FILLED_LENGTH = (
    2 * MAX_QUESTION_BYTES
)  # the names of variables go, so the exact limit is checked afterwards


class LayoutError(ValueError):
    """Parameters that do not fit the layout; the message names them."""


def list_variables(html: str) -> tuple[str, ...]:
    """Return the names in a layout, each once, in the order of the page."""
    return tuple(dict.fromkeys(variable_names(html)))


def fill_layout(html: str, values: Mapping[str, str]) -> str:
    """Return the page with each variable replaced. Raises LayoutError unless the names are the same on both sides."""
    required = list_variables(html)
    missing = [name for name in required if name not in values]
    if missing:
        raise LayoutError(f"The layout needs a value for {', '.join(missing)}.")
    unused = sorted(set(values) - set(required))
    if unused:
        raise LayoutError(f"The layout has no variable named {', '.join(unused)}.")
    # Counted first: a value that stands in a hundred places is a hundred times as long.
    size = len(html) + sum(len(values[name]) for name in variable_names(html))
    if size > MAX_FILLED_LENGTH:
        raise LayoutError(
            f"The page filled in has about {size} characters; at most {MAX_FILLED_LENGTH} are allowed."
        )
    return fill_in(html, values)
