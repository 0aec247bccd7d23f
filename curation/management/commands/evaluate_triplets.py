"""``manage.py evaluate_triplets --version V --model M --setup triplet|pairs --strategy S``."""

from argparse import ArgumentParser
from pathlib import Path
from typing import Any

from curation.generation.chat_factory import get_chat_model
from curation.management.lookups import get_version
from curation.management.model_calls import ModelCallCommand
from curation.management.option_fields import option_fields
from curation.management.triplet_options import add_chat_options
from curation.models import TripletEvaluation, TripletSource
from curation.pipelines.triplets.baselines import check_baseline
from curation.pipelines.triplets.export_predictions import export_predictions
from curation.selectors.jobs import EVALUATE_TRIPLETS
from curation.services.triplets.evaluations import (
    BASELINES,
    IMAGE_TO_TEXT,
    SETUPS,
    STRATEGIES,
    VARIANTS,
    EvaluationOptions,
    request_evaluation,
)
from hits.management.base import input_error
from hits.management.jobs import job_facts
from hits.management.lookups import find_project
from hits.models import Job


class Command(ModelCallCommand):
    """Ask a model about every triplet of a sealed version in both orders, or measure a baseline or people."""

    help = (
        "Evaluate a chat model, a baseline (baseline:NAME) or people on a sealed version. Replies are stored: the "
        f"same evaluation again sends no call. Baselines: {', '.join(BASELINES)}, nli:FOLDER."
    )
    tasks = (EVALUATE_TRIPLETS,)
    has_version_option = True

    def add_arguments(self, parser: ArgumentParser) -> None:
        """Declare the flags."""
        super().add_arguments(parser)
        add = parser.add_argument
        add("--version", dest="version_name", default="", help="a sealed version")
        add("--project", default="", help="required if several projects have a version with this name")
        add("--setup", choices=SETUPS, default=SETUPS[0], help="a choice between both hypotheses, or scores")
        add("--strategy", choices=STRATEGIES, default=STRATEGIES[0], help="what the model sees")
        add("--variant", choices=VARIANTS, default=VARIANTS[0], help="how a choice is asked for")
        add("--describer", default="", help="the chat model that describes images in image-to-text")
        add("--split", default="", help="default: all triplets")
        add("--encoder", default="", help="of the baselines by likeness of images")
        add(
            "--out",
            type=Path,
            help="also write predictions.jsonl or pairs.jsonl, and key.json, into this folder",
        )
        add_chat_options(parser, defaults=EvaluationOptions())

    def check_models(self, **options: Any) -> None:
        """Load the chat models."""
        given = EvaluationOptions(**option_fields(EvaluationOptions, options))
        if given.source is not TripletSource.MODEL:
            check_baseline(given.model)
            return
        get_chat_model(given.model)
        if given.strategy == IMAGE_TO_TEXT and given.describer:
            get_chat_model(given.describer)

    def create_run(self, *, queue: bool, **options: Any) -> Job:
        """Create the evaluation and its job."""
        given = EvaluationOptions(**option_fields(EvaluationOptions, options))
        if options["out"] and given.source is TripletSource.PEOPLE:
            raise input_error(
                "--out: people see one order each, so they make no predictions; nleye_answer.jsonl of an export "
                "has their answers"
            )
        if options["record"] and given.source is not TripletSource.MODEL:
            raise input_error("--record: only chat models have replies; leave it out")
        project = find_project(options["project"]) if options["project"] else None
        return request_evaluation(
            version=get_version(options["version_name"], project),
            options=given,
            by=None,
            queue=queue,
        )

    def report_figures(self, job: Job, options: dict[str, Any]) -> None:
        """Print the headline figures; write the predictions if asked."""
        row = TripletEvaluation.objects.select_related("version").get(pk=job.result["evaluation"])
        facts = {**job_facts(job), "figures": row.figures}
        if options["out"]:
            try:
                facts["files"] = export_predictions(row, options["out"])
            except OSError as error:
                raise input_error(f"--out {options['out']}: {error.strerror}; name another folder") from error
        self.report(options, facts, *_headlines(row))


def _headlines(row: TripletEvaluation) -> list[str]:
    names = {
        "triplet": ("consistency_accuracy", "gold_first_accuracy", "gold_second_accuracy"),
        "pairs": ("order_faithful_accuracy",),
        "people": ("majority_accuracy", "individual_accuracy"),
    }
    lines = []
    for group, measures in names.items():
        found = row.figures.get(group)
        for name in measures if found else ():
            value = found[name]["value"] if isinstance(found[name], dict) else found[name]
            shown = "–" if value is None else f"{value:.1f} %"
            lines.append(f"{name.replace('_', ' ')}: {shown}")
    return lines or [f"{row.label}: done"]
