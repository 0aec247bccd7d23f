"""``manage.py import_generated FOLDER --project P``."""

from argparse import ArgumentParser
from pathlib import Path
from typing import Any

from curation.management.triplet_options import find_triplet_project
from curation.pipelines.triplets.import_generated import import_generated
from hits.management.base import DeerstalkerCommand


class Command(DeerstalkerCommand):
    """Import images that were made elsewhere as candidates of scenes; all or none."""

    help = (
        "Import <scene id>/{premise,hypothesis1,hypothesis2}.png with a manifest.csv from a folder or a zip. "
        "hypothesis1 is the scene's hypothesis a, hypothesis2 is b."
    )

    def add_arguments(self, parser: ArgumentParser) -> None:
        """Declare the flags."""
        super().add_arguments(parser)
        parser.add_argument("folder", type=Path, help="a folder or a zip")
        parser.add_argument("--project", required=True, help="the project's short name")

    def handle(self, *args: Any, **options: Any) -> None:
        """Import the folder."""
        project = find_triplet_project(options["project"])
        result = import_generated(project=project, path=options["folder"], by=None)
        facts = {"import": result.source.pk, "images": result.source.rows, "new": result.new}
        self.report(options, facts, f"{options['folder']}: {result.source.rows} images, {result.new} new")
