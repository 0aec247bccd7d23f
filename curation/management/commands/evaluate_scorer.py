"""``manage.py evaluate_scorer --version V --scorer NAME|ENCODER [--split test] [--texts clue] [--region-mode …]``."""

from argparse import ArgumentParser
from collections.abc import Mapping
from pathlib import Path
from typing import Any

from curation.features.encoder import DEFAULT_ENCODER, POOLED_ENCODER
from curation.management.bertscore_options import add_bertscore_options
from curation.management.encoder_names import make_encoder_path_absolute
from curation.management.evaluation_options import add_evaluation_set_options, read_evaluation_set_options
from curation.management.lookups import get_version, resolve_split
from curation.models import DatasetVersion, Evaluation
from curation.selectors.jobs import EVALUATE
from curation.selectors.scorers import SCORER_PREFIX, find_scorer, ready_scorers
from curation.services import evaluations
from hits.domain.images.region_drawing import RegionMode
from hits.management.base import input_error
from hits.management.jobs import JobCommand
from hits.management.lookups import find_project
from hits.models import Job

MAX_NAMED = 10  # scorers in a message


class Command(JobCommand):
    """Evaluate a scorer, an encoder, a file of predictions, people, or chance on a split of a sealed version."""

    help = (
        "Measure how well a scorer, an encoder, a file of predictions, people or chance does on the three tasks of a "
        "split of a sealed version. A stopped or killed run keeps its finished vectors and can be resumed."
    )
    tasks = (EVALUATE,)
    has_version_option = True

    def add_arguments(self, parser: ArgumentParser) -> None:
        """Add the options."""
        super().add_arguments(parser)
        add = parser.add_argument
        add_evaluation_set_options(parser, is_version_needed=False)
        source = parser.add_mutually_exclusive_group()
        source.add_argument(
            "--scorer",
            type=make_encoder_path_absolute,
            help="a scorer's name, scorer:<name or number>, label-sentence, clip:<hub id or folder>, …",
        )
        source.add_argument("--predictions", type=Path, help="zip of a submission, or a task's .npy or .json")
        source.add_argument("--judgments", action="store_true", help="evaluate people, by their judgments")
        source.add_argument("--random", action="store_true", help="evaluate random scores")
        add("--random-seed", type=int, default=0, metavar="SEED", help="seed of --random (0)")
        modes = (
            f"how regions are drawn: {', '.join(RegionMode)}; only_context is another name for hide; "
            "default: as in training"
        )
        add("--region-mode", default="", help=modes)
        score = parser.add_argument_group(
            "BERTScore of the retrieved inferences, with a model saved in a folder"
        )
        add_bertscore_options(score)
        add("--label", default="", help="the evaluation's name in tables; required with --predictions")

    def create_job(self, *, queue: bool, **options: Any) -> Job:
        """Create the evaluation and its job."""
        if not options["version"]:
            raise input_error("give --version, or --resume JOB")
        project = find_project(options["project"]) if options["project"] else None
        version = get_version(options["version"], project)
        row = _request_evaluation(version, options, queue=queue)
        assert row.job is not None
        return row.job


def _request_evaluation(version: DatasetVersion, given: Mapping[str, Any], *, queue: bool) -> Evaluation:
    options = evaluations.EvaluationOptions(
        sets=read_evaluation_set_options(given),
        proposals=given["proposals"],
        region_mode=_region_mode_or_given(given["region_mode"]),
        label=given["label"],
        extra_facts=_bertscore_options(given),
    )
    common: dict[str, Any] = {
        "project": version.project,
        "by": None,
        "version": version,
        "split": resolve_split(version, given["split"]),
        "options": options,
        "queue": queue,
    }
    if given["scorer"]:
        return evaluations.request_evaluation(encoder=_resolve_encoder(version, given["scorer"]), **common)
    if given["predictions"]:
        return evaluations.request_file_evaluation(predictions=given["predictions"], **common)
    if given["judgments"]:
        return evaluations.request_judgments_evaluation(**common)
    if given["random"]:
        return evaluations.request_baseline_evaluation(seed=given["random_seed"], **common)
    raise input_error("choose what to evaluate: --scorer, --predictions, --judgments or --random")


def _region_mode_or_given(given: str) -> str:
    """Return a mode's canonical name. An unknown mode is returned unchanged; the service refuses it."""
    try:
        return RegionMode(given).value
    except ValueError:
        return given


def _bertscore_options(given: Mapping[str, Any]) -> dict[str, Any]:
    if not given["bertscore"]:
        return {}
    layer, baseline = given["bertscore_layer"], given["bertscore_baseline"]
    return {"bertscore": {"folder": given["bertscore"], "layer": layer, "baseline": baseline}}


def _resolve_encoder(version: DatasetVersion, name: str) -> str:
    """Return an encoder's name; a scorer may be named without its prefix."""
    if ":" in name or name in {DEFAULT_ENCODER, POOLED_ENCODER}:
        return name
    if find_scorer(version.project, name) is None:
        known = ", ".join(scorer.name for scorer in ready_scorers(version.project)[:MAX_NAMED]) or "none yet"
        raise input_error(
            f"--scorer {name}: there is no such scorer in {version.project.slug}; known: {known}; "
            f"or name an encoder: {DEFAULT_ENCODER}, clip:<hub id or folder>"
        )
    return f"{SCORER_PREFIX}{name}"
