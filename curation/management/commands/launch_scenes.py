"""``manage.py launch_scenes --project P --count N [--quota CATEGORY=N …]``."""

from argparse import ArgumentParser
from typing import Any

from curation.image_triplets.quotas import parse_quotas
from curation.management.triplet_options import (
    add_round_options,
    find_triplet_project,
    launch_and_publish,
)
from curation.records import InvalidInput
from curation.services.triplets.round_launch import RoundLaunch
from curation.services.triplets.scene_rounds import launch_scenes, scene_kind
from hits.management.base import DeerstalkerCommand, input_error
from hits.models import Batch, Job


class Command(DeerstalkerCommand):
    """Ask workers to write scenes, and publish the batch before returning."""

    help = "Launch tasks in which a worker writes a premise and two hypotheses."

    def add_arguments(self, parser: ArgumentParser) -> None:
        """Declare the flags."""
        super().add_arguments(parser)
        add_round_options(parser)
        parser.add_argument("--count", type=int, required=True, help="number of scenes")
        parser.add_argument(
            "--quota",
            action="append",
            default=[],
            metavar="CATEGORY=N",
            help="ask for a category in N of the tasks; may be repeated",
        )

    def handle(self, *args: Any, **options: Any) -> None:
        """Launch and publish."""
        project = find_triplet_project(options["project"])
        try:
            quotas = parse_quotas(options["quota"])
        except InvalidInput as error:
            raise input_error(f"--{error}") from error

        def launcher(launch: RoundLaunch) -> tuple[Batch, Job]:
            return launch_scenes(project=project, count=options["count"], quotas=quotas, launch=launch)

        launch_and_publish(self, project, scene_kind(), launcher, options)
