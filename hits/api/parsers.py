"""JSON that every database and every reply can carry; anything else is refused at the door."""

from collections.abc import Mapping
from typing import IO, Any

from rest_framework.exceptions import ParseError
from rest_framework.parsers import JSONParser

from hits.domain.answers.storable_json import unkept
from hits.kind import FieldError, InvalidInput


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
        first = next(unkept(data, envelope="answer"), None)
        if first is not None:
            path, problem = first
            raise InvalidInput([FieldError(path or "body", problem)])
        return data
