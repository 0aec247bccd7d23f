"""Read a page as a person does: how its source is wrapped and indented says nothing."""

import re
from typing import Any

_BETWEEN_TAGS = re.compile(r">\s+<")


def squeezed(response: Any) -> str:
    """Return a response's HTML without the white space between tags, and single spaces elsewhere."""
    return _BETWEEN_TAGS.sub("><", " ".join(response.content.decode().split()))
