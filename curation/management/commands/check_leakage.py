"""``manage.py check_leakage --project P [--threshold 0.8]``: similar images in different splits."""

from argparse import ArgumentParser
from typing import Any

from curation.management.encoder_names import make_encoder_path_absolute
from curation.management.option_fields import option_fields
from curation.selectors.jobs import LEAKAGE
from curation.services.leakage import CompareBy, LeakageOptions, request_leakage_check
from hits.management.base import input_error
from hits.management.jobs import JobCommand
from hits.management.lookups import find_project
from hits.models import Job

DEFAULTS = LeakageOptions()


class Command(JobCommand):
    """Compare the splits of a project; the pairs are reviewed on the project's Splits page."""

    help = "Find copies and near-duplicates in different splits of a project."
    tasks = (LEAKAGE,)

    def add_arguments(self, parser: ArgumentParser) -> None:
        """Add the options."""
        super().add_arguments(parser)
        add = parser.add_argument
        add("--project", default="", help="the project's short name")
        threshold_help = f"minimum cosine of a pair; default: {DEFAULTS.threshold:g}"
        add("--threshold", type=float, default=DEFAULTS.threshold, help=threshold_help)
        limit_help = f"number of most similar pairs to keep; default: {DEFAULTS.limit}"
        add("--limit", type=int, default=DEFAULTS.limit, help=limit_help)
        both = "what is compared: image vectors and published ids, or equal files and published ids"
        names = [compare.value for compare in CompareBy]
        add("--compare", choices=names, default=DEFAULTS.compare, help=both)
        encoder_help = "encoder of the images; default: efficientnet-lite0"
        add("--encoder", type=make_encoder_path_absolute, default="", help=encoder_help)

    def create_job(self, *, queue: bool, **options: Any) -> Job:
        """Create the job."""
        if not options["project"]:
            raise input_error("give --project, or --resume JOB")
        given = LeakageOptions(**option_fields(LeakageOptions, options))
        return request_leakage_check(project=find_project(options["project"]), options=given, queue=queue)
