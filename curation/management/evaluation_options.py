"""Options shared by commands about evaluation: the version, the split, and how the evaluation sets are made."""

from argparse import ArgumentParser
from collections.abc import Mapping
from typing import Any

from curation.evaluation.sets import CHUNK_SIZE, MAX_BOXES, MIN_INFERENCES
from curation.families.sherlock.evaluation_plan import TEXTS, EvaluationSetOptions
from curation.management.option_fields import option_fields
from curation.records import InvalidInput
from hits.management.base import input_error


def add_evaluation_set_options(parser: ArgumentParser, *, is_version_needed: bool = True) -> None:
    """Add the options."""
    add = parser.add_argument
    add("--version", required=is_version_needed, help="name of a sealed version")
    add(
        "--project",
        help="the project's short name; required if several projects have a version with this name",
    )
    splits = "train, val, test or all; default: test, else val, if the version has them"
    add("--split", help=splits)
    add("--texts", choices=TEXTS, default=TEXTS[0], help="the texts to match")
    runs = "number of the run of box proposals; default: the newest run, 0 for none"
    add("--proposals", type=int, metavar="RUN", help=runs)
    add("--boxes", type=int, default=MAX_BOXES, help="proposed boxes per photo")
    add("--chunk", type=int, default=CHUNK_SIZE, help="pairs per retrieval chunk")
    min_pairs = "match inferences and regions one to one only on photos with at least this many pairs"
    add("--min-inferences", type=int, default=MIN_INFERENCES, help=min_pairs)
    add("--seed", type=int, default=0, help="seed of the draw of the chunks")


def read_evaluation_set_options(given: Mapping[str, Any]) -> EvaluationSetOptions:
    """Return the options of the evaluation sets from the command line."""
    try:
        return EvaluationSetOptions(**option_fields(EvaluationSetOptions, given))
    except InvalidInput as error:
        raise input_error(f"--{error}") from error
