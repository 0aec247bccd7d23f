"""``manage.py build_comparison_round --project P [--encoder E] [--split train] [--seed 0] [the rules …]``."""

from argparse import ArgumentParser
from typing import Any

from curation.features.encoder import DEFAULT_ENCODER
from curation.management.encoder_names import absolute_encoder
from curation.management.rule_options import (
    NUMBER_OPTIONS,
    RULE_OPTIONS,
    SOFT_OPTIONS,
    add_rules,
    add_soft_deduplication,
)
from curation.management.selection_option import add_selection, read_selection
from curation.negatives.options import KeepRule
from curation.selectors.jobs import COMPARISON_ROUND
from curation.services import RoundOptions, request_comparison_round
from hits.management.base import input_error
from hits.management.jobs import JobCommand
from hits.management.lookups import find_project
from hits.models import Job


class Command(JobCommand):
    """Build a comparison round; its sets are reviewed and launched on the page Comparison sets."""

    help = (
        "Build comparison sets from a project's approved pairs, as a round that can be launched for rating."
    )
    tasks = (COMPARISON_ROUND,)

    def add_arguments(self, parser: ArgumentParser) -> None:
        """Add the options; the rules are those of ``build_comparison_sets``."""
        super().add_arguments(parser)
        parser.add_argument("--project", default="", help="the project's short name")
        parser.add_argument(
            "--split", default="", help="only pairs on photos of this split; needed with several"
        )
        parser.add_argument(
            "--encoder",
            type=absolute_encoder,
            default="",
            help=f"of plausibility: {DEFAULT_ENCODER} (default), clip:<hub id or folder>, clip-openvino:<folder>, or "
            "scorer:<name or number> of one that was trained or imported here",
        )
        add_selection(parser)
        parser.add_argument("--seed", type=int, default=0, help="seed of all random choices")
        add_rules(parser)
        soft = parser.add_argument_group("soft de-duplication")
        add_soft_deduplication(soft, keep=KeepRule.RANDOM, keep_help="which member of a cluster to keep")

    def request(self, *, queue: bool, **options: Any) -> Job:
        """Request the round."""
        if not options["project"]:
            raise input_error("give --project, or a job to --resume")
        rules = {
            name: options[name] for name in (*NUMBER_OPTIONS, *RULE_OPTIONS, *SOFT_OPTIONS, "seed", "split")
        }
        return request_comparison_round(
            project=find_project(options["project"]),
            by=None,
            options=RoundOptions(**rules, selection=read_selection(options["selection"]).as_json()),
            encoder=options["encoder"],
            queue=queue,
        )
