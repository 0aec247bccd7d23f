"""Refusals: services and pipelines report invalid input of the numerical packages alike."""

from collections.abc import Iterator
from contextlib import contextmanager

from curation.records import InvalidInput
from hits.services.errors import Refused


@contextmanager
def refuse_invalid_input() -> Iterator[None]:
    """Raise Refused, with the same message, in place of InvalidInput."""
    try:
        yield
    except InvalidInput as error:
        raise Refused(str(error)) from error
