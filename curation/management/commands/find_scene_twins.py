"""``manage.py find_scene_twins --project P``."""

from argparse import ArgumentParser
from typing import Any

from curation.management.triplet_options import find_triplet_project
from curation.selectors.jobs import SCENE_TWINS
from curation.services.triplets.audits import request_scene_twins
from hits.management.jobs import JobCommand
from hits.models import Job


class Command(JobCommand):
    """Find the most similar other scene of each scene, which the filter queue shows."""

    help = "Compare the texts of all scenes, so that the filter queue can show near-copies."
    tasks = (SCENE_TWINS,)

    def add_arguments(self, parser: ArgumentParser) -> None:
        """Declare the flags."""
        super().add_arguments(parser)
        parser.add_argument("--project", default="", help="the project's short name")

    def create_job(self, *, queue: bool, **options: Any) -> Job:
        """Create the job."""
        project = find_triplet_project(options["project"])
        return request_scene_twins(project=project, by=None, queue=queue)
