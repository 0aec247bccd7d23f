"""A JSON parser that refuses values which a database or a reply cannot store."""

from collections.abc import Mapping
from typing import IO, Any

from rest_framework.exceptions import ParseError
from rest_framework.parsers import JSONParser

from hits.domain.answers.storable_json import find_unstorable
from hits.kind import FieldError, InvalidInput


class StrictJSONParser(JSONParser):
    """Refuses values that can be parsed but not stored, and reports their path."""

    def parse(
        self,
        stream: IO[Any],
        media_type: str | None = None,
        parser_context: Mapping[str, Any] | None = None,
    ) -> Any:
        """Return the parsed body.

        Raises:
            ParseError: no JSON, or nested too deeply.
            InvalidInput: a text or number that cannot be stored.
        """
        try:
            data = super().parse(stream, media_type, parser_context)
        except RecursionError as error:
            raise ParseError("JSON parse error - nested too deeply") from error
        first = next(find_unstorable(data, envelope="answer"), None)
        if first is not None:
            path, problem = first
            raise InvalidInput([FieldError(path or "body", problem)])
        return data
