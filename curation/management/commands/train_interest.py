"""``manage.py train_interest --project P --model counts|features:<encoder>``: which images are interesting."""

from argparse import ArgumentParser
from typing import Any

from curation.interest.labels import OkayImages
from curation.management.encoder_names import make_encoder_path_absolute
from curation.management.option_fields import option_fields
from curation.management.setting_options import add_default_options
from curation.selectors.jobs import TRAIN_INTEREST
from curation.services.interest import (
    FEATURES_PREFIX,
    TrainingOptions,
    parse_model_name,
    request_interest_training,
)
from hits.management.base import input_error
from hits.management.jobs import JobCommand, job_facts
from hits.management.lookups import find_project
from hits.models import Job
from hits.services.errors import Refused

DEFAULTS = TrainingOptions()


def _model_name(given: str) -> str:
    """Return a model's name with the absolute path of its encoder's folder."""
    encoder = given.removeprefix(FEATURES_PREFIX)
    return given if encoder == given else FEATURES_PREFIX + make_encoder_path_absolute(encoder)


class Command(JobCommand):
    """Train a model of interestingness on all verdicts about a project's images."""

    help = (
        "Train a model of interestingness on the verdicts of workers and researchers, and choose the smallest score "
        "with the wanted precision on films that the model has not seen."
    )
    tasks = (TRAIN_INTEREST,)

    def add_arguments(self, parser: ArgumentParser) -> None:
        """Add the options."""
        super().add_arguments(parser)
        add = parser.add_argument
        add("--project", default="", help="the project's short name")
        model_help = (
            "counts (of people and other objects; default), or features:<encoder>, which adds image features"
        )
        add("--model", type=_model_name, default="counts", help=model_help)
        add(
            "--okay",
            choices=[okay.value for okay in OkayImages],
            default=DEFAULTS.okay,
            help=(f"what images without a clear verdict count as; default: {DEFAULTS.okay}"),
        )
        add_default_options(
            parser,
            DEFAULTS,
            {
                "min_precision": "wanted share of interesting images among those that are kept",
                "min_kept": "labelled images that the threshold keeps at least",
                "min_labels": "labelled images of either class at least",
                "folds": "folds of films",
                "min_score": "objects with a lower score of the detector do not count, 0 to 1",
                "penalty": "L2 penalty of the counts model",
                "hidden": "hidden units on the counts; features model",
                "steps": "training steps; features model",
                "learning_rate": "learning rate; features model",
                "weight_decay": "weight decay; features model",
                "seed": "seed of the folds and of the features model",
            },
        )

    def create_job(self, *, queue: bool, **options: Any) -> Job:
        """Create the job."""
        if not options["project"]:
            raise input_error("give --project, or --resume JOB")
        try:
            fields: dict[str, Any] = option_fields(TrainingOptions, options)
            given = TrainingOptions(**fields | parse_model_name(options["model"]))
        except Refused as error:
            raise input_error(f"--{error}") from error
        project = find_project(options["project"])
        return request_interest_training(project=project, by=None, options=given, queue=queue)

    def report_result(self, job: Job, options: dict[str, Any]) -> None:
        """Print the threshold and its figures."""
        found = job.result
        low, high = found["interval"]
        self.report(
            options,
            job_facts(job),
            f"Model {found['model']}: from a score of {found['threshold']:.3f}, {found['precision']:.1%} of the kept "
            f"photos are interesting ({low:.1%} to {high:.1%}), measured on films that the model had not seen; it "
            f"keeps {found['recall']:.1%} of the interesting photos, and {found['share_kept']:.1%} of all labelled "
            "photos",
        )
