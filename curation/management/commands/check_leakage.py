"""``manage.py check_leakage --project P [--threshold 0.8]``: similar images in different splits."""

from argparse import ArgumentParser
from typing import Any

from curation.management.encoder_names import absolute_encoder
from curation.selectors.jobs import LEAKAGE
from curation.services.leakage import CompareBy, LeakageOptions, request_leakage_check
from hits.management.base import input_error
from hits.management.jobs import JobCommand
from hits.management.lookups import find_project
from hits.models import Job

DEFAULTS = LeakageOptions()


class Command(JobCommand):
    """Compare the splits of a project; pairs are reviewed on its page Splits."""

    help = "Find near-duplicates and copies between a project's splits."
    tasks = (LEAKAGE,)

    def add_arguments(self, parser: ArgumentParser) -> None:
        """Add the options."""
        super().add_arguments(parser)
        parser.add_argument("--project", default="", help="the project's short name")
        parser.add_argument(
            "--threshold", type=float, default=DEFAULTS.threshold, help="minimum cosine of a pair"
        )
        parser.add_argument(
            "--limit", type=int, default=DEFAULTS.limit, help="number of most similar pairs to keep"
        )
        parser.add_argument(
            "--compare",
            choices=[compare.value for compare in CompareBy],
            default=DEFAULTS.compare,
            help="image vectors and published ids, or equal files and published ids only",
        )
        parser.add_argument(
            "--encoder",
            type=absolute_encoder,
            default="",
            help="of image vectors; the project's usual one if absent",
        )

    def request(self, *, queue: bool, **options: Any) -> Job:
        """Return the job."""
        if not options["project"]:
            raise input_error("give --project, or a job to --resume")
        leakage_options = LeakageOptions(
            options["threshold"], options["limit"], options["compare"], options["encoder"]
        )
        return request_leakage_check(
            project=find_project(options["project"]), options=leakage_options, queue=queue
        )
