"""HIT layouts: pages with ``${variables}``; a HIT fills in the values.

``hits.domain.task_template.variables`` defines the variable names for layouts and for the platform's own templates:
both accept the pages of Amazon's editor.

Values are inserted unescaped, as in Amazon's layouts ("values with reserved characters or invalid HTML markup may
result in an invalid HTMLQuestion document"), because requesters pass markup in them. This is safe: the page runs in a
sandboxed frame without an origin.
"""

from collections.abc import Mapping

from hits.domain.mturk_formats.external_question import MAX_QUESTION_BYTES
from hits.domain.task_template.variables import fill_variables, list_variable_uses

# Filling removes variable names, so the exact limit is checked afterwards.
MAX_FILLED_LENGTH = 2 * MAX_QUESTION_BYTES


class LayoutError(ValueError):
    """Parameters that do not match the layout; the message names them."""


def list_variables(html: str) -> tuple[str, ...]:
    """Return the distinct variable names of a layout, in the order of the page."""
    return tuple(dict.fromkeys(list_variable_uses(html)))


def fill_layout(html: str, values: Mapping[str, str]) -> str:
    """Return the page with each variable replaced. Raises LayoutError unless values and variables match."""
    required = list_variables(html)
    missing = [name for name in required if name not in values]
    if missing:
        raise LayoutError(f"The layout needs a value for {', '.join(missing)}.")
    unused = sorted(set(values) - set(required))
    if unused:
        raise LayoutError(f"The layout has no variable named {', '.join(unused)}.")
    # Computed first: a value may occur a hundred times.
    size = len(html) + sum(len(values[name]) for name in list_variable_uses(html))
    if size > MAX_FILLED_LENGTH:
        raise LayoutError(
            f"The filled page has about {size} characters; at most {MAX_FILLED_LENGTH} are allowed."
        )
    return fill_variables(html, values)
