"""JSON that every database and every reply can carry; anything else is refused at the door."""

import math
import re
from collections.abc import Iterator, Mapping
from typing import IO, Any

from rest_framework.exceptions import ParseError
from rest_framework.parsers import JSONParser

from hits.kind import FieldError, InvalidInput

MAX_DEPTH = 32
# JSON can write NUL and halves of surrogate pairs; PostgreSQL refuses the first, UTF-8 the second.
_UNKEPT = re.compile("[\x00\ud800-\udfff]")


class StrictJSONParser(JSONParser):
    """Refuses values that could be read but not kept, and names where they stand."""

    def parse(
        self,
        stream: IO[Any],
        media_type: str | None = None,
        parser_context: Mapping[str, Any] | None = None,
    ) -> Any:
        """Return the parsed body.

        Raises:
            ParseError: no JSON, or nested too deeply.
            InvalidInput: a text or number that cannot be kept.
        """
        try:
            data = super().parse(stream, media_type, parser_context)
        except RecursionError as error:
            raise ParseError("JSON parse error - nested too deeply") from error
        first = next(_unkept(data, "", 0), None)
        if first is not None:
            raise InvalidInput([first])
        return data


def _unkept(value: Any, path: str, depth: int) -> Iterator[FieldError]:
    """Yield what cannot be kept, with paths as the kinds write them (``observations[0].clue``)."""
    if depth > MAX_DEPTH:
        yield FieldError(path, f"is nested more than {MAX_DEPTH} deep")
    elif isinstance(value, dict):
        for key, item in value.items():
            if _UNKEPT.search(key):
                yield FieldError(path or "body", "has a name with a control character: remove it")
                return
            # The page knows its answer's fields by their own names, without the envelope's.
            inside = key if not path or path == "answer" else f"{path}.{key}"
            yield from _unkept(item, inside, depth + 1)
    elif isinstance(value, list):
        for index, item in enumerate(value):
            yield from _unkept(item, f"{path}[{index}]", depth + 1)
    else:
        problem = _problem(value)
        if problem:
            yield FieldError(path or "body", problem)


def _problem(value: Any) -> str:
    if isinstance(value, float) and not math.isfinite(value):
        return "is too large a number"
    found = _UNKEPT.search(value) if isinstance(value, str) else None
    return f"contains the control character U+{ord(found[0]):04X}: remove it" if found else ""
