"""``manage.py build_comparison_round --project P [--encoder E] [--split train] [--seed 0] [the rules …]``."""

from argparse import ArgumentParser
from typing import Any

from curation.features.encoder import DEFAULT_ENCODER
from curation.management.encoder_names import make_encoder_path_absolute
from curation.management.option_fields import option_fields
from curation.management.rule_options import add_comparison_set_options, add_soft_deduplication_options
from curation.management.selection_option import add_selection_option, read_selection
from curation.negatives.options import KeepRule
from curation.selectors.jobs import COMPARISON_ROUND
from curation.services.comparison import RoundOptions, request_comparison_round
from hits.management.base import input_error
from hits.management.jobs import JobCommand
from hits.management.lookups import find_project
from hits.models import Job


class Command(JobCommand):
    """Build a comparison round; its sets are reviewed and launched on the Comparison sets page."""

    help = (
        "Build comparison sets from a project's approved pairs, as a round that can be launched for rating."
    )
    tasks = (COMPARISON_ROUND,)

    def add_arguments(self, parser: ArgumentParser) -> None:
        """Add the options; the rules are those of ``manage.py build_comparison_sets``."""
        super().add_arguments(parser)
        add = parser.add_argument
        add("--project", default="", help="the project's short name")
        splits = "use only pairs on photos of this split; required if there are several splits"
        add("--split", default="", help=splits)
        encoders = (
            f"encoder for plausibility: {DEFAULT_ENCODER} (default), clip:<hub id or folder>, "
            "clip-openvino:<folder>, or scorer:<name or number> of a scorer of this project"
        )
        add("--encoder", type=make_encoder_path_absolute, default="", help=encoders)
        add_selection_option(parser)
        add("--seed", type=int, default=0, help="seed of all random choices (0)")
        add_comparison_set_options(parser)
        soft = parser.add_argument_group("soft de-duplication")
        keep_help = "which member of a cluster to keep"
        add_soft_deduplication_options(soft, keep=KeepRule.RANDOM, keep_help=keep_help)

    def create_job(self, *, queue: bool, **options: Any) -> Job:
        """Create the job that builds the round."""
        if not options["project"]:
            raise input_error("give --project, or --resume JOB")
        given = option_fields(RoundOptions, options)
        given["selection"] = read_selection(options["selection"]).as_json()
        return request_comparison_round(
            project=find_project(options["project"]),
            by=None,
            options=RoundOptions(**given),
            encoder=options["encoder"],
            queue=queue,
        )
