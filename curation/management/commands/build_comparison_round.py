"""``manage.py build_comparison_round --project P [--encoder E] [--split train] [--seed 0] [the rules …]``."""

from argparse import ArgumentParser
from typing import Any

from curation.features.encoder import DEFAULT_ENCODER
from curation.management.encoder_names import absolute_encoder
from curation.management.selections import add_selection, read_selection
from curation.management.set_rules import NUMBERS, RULES, SOFT, add_rules, add_soft_deduplication
from curation.negatives.options import Keep
from curation.selectors.jobs import COMPARISON_ROUND
from curation.services import RoundOptions, request_comparison_round
from hits.management.base import bad_input
from hits.management.jobs import JobCommand
from hits.management.rows import project_called
from hits.models import Job


class Command(JobCommand):
    """Build a comparison round; its sets are looked through and launched on the page Comparison sets."""

    help = (
        "Build comparison sets from a project's approved pairs, as a round that can be launched for rating."
    )
    tasks = (COMPARISON_ROUND,)

    def add_arguments(self, parser: ArgumentParser) -> None:
        """Declare the flags; the rules are those of ``build_comparison_sets``."""
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
        parser.add_argument("--seed", type=int, default=0, help="of every random draw")
        add_rules(parser)
        soft = parser.add_argument_group("soft de-duplication")
        add_soft_deduplication(soft, keep=Keep.RANDOM, keep_help="who stays of a cluster")

    def request(self, *, queue: bool, **options: Any) -> Job:
        """Ask for the round."""
        if not options["project"]:
            raise bad_input("name --project, or a job to --resume")
        wanted = {name: options[name] for name in (*NUMBERS, *RULES, *SOFT, "seed", "split")}
        return request_comparison_round(
            project=project_called(options["project"]),
            by=None,
            options=RoundOptions(**wanted, selection=read_selection(options["selection"]).as_json()),
            encoder=options["encoder"],
            queue=queue,
        )
