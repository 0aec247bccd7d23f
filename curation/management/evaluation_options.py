"""Shared options of commands about evaluation: the version, split, and options of the sets."""

from argparse import ArgumentParser
from collections.abc import Mapping
from typing import Any

from curation.evaluation.sets import CHUNK_SIZE, MAX_BOXES, MIN_INFERENCES
from curation.families.sherlock.evaluation_plan import TEXTS, SetOptions
from curation.management.option_fields import option_fields
from curation.records import InvalidInput
from hits.management.base import input_error


def add_set_options(parser: ArgumentParser, *, is_version_needed: bool = True) -> None:
    """Add the options."""
    add = parser.add_argument
    add("--version", required=is_version_needed, help="name of a sealed version")
    add("--project", help="its project's short name; needed when the version's does not tell")
    splits = "train, val, test, or all; by default test, or else val, where the version has one"
    add("--split", help=splits)
    add("--texts", choices=TEXTS, default=TEXTS[0], help="the texts to match")
    runs = "run of proposed boxes; the newest by default, 0 for none"
    add("--proposals", type=int, metavar="RUN", help=runs)
    add("--boxes", type=int, default=MAX_BOXES, help="proposed boxes per photo")
    add("--chunk", type=int, default=CHUNK_SIZE, help="pairs per chunk of retrieval")
    add("--min-inferences", type=int, default=MIN_INFERENCES, help="pairs of a photo to match one to one")
    add("--seed", type=int, default=0, help="of the draw of the chunks")


def read_set_options(given: Mapping[str, Any]) -> SetOptions:
    """Return the options from the command line."""
    try:
        return SetOptions(**option_fields(SetOptions, given))
    except InvalidInput as error:
        raise input_error(f"--{error}") from error
