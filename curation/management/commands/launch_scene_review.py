"""``manage.py launch_scene_review --project P``."""

from argparse import ArgumentParser
from typing import Any

from curation.management.triplet_options import (
    add_round_options,
    find_triplet_project,
    launch_and_publish,
)
from curation.selectors.triplets.scenes import review_spec
from curation.services.triplets.scene_rounds import launch_scene_review
from hits.management.base import DeerstalkerCommand


class Command(DeerstalkerCommand):
    """Ask three other workers about each open scene, and publish the batch before returning."""

    help = "Launch a review of the open scenes that nobody was asked about: never by their authors."

    def add_arguments(self, parser: ArgumentParser) -> None:
        """Declare the flags."""
        super().add_arguments(parser)
        add_round_options(parser, checks=True)

    def handle(self, *args: Any, **options: Any) -> None:
        """Launch and publish."""
        project = find_triplet_project(options["project"])
        launch_and_publish(
            self,
            project,
            review_spec().kind,
            lambda launch: launch_scene_review(project=project, launch=launch),
            options,
        )
