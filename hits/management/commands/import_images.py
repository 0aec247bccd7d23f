"""``manage.py import_images PATH_OR_MANIFEST --project P``."""

from argparse import ArgumentParser
from pathlib import Path
from typing import Any

from hits.management.base import DeerstalkerCommand
from hits.management.lookups import find_project, validate_image_limit
from hits.services.images.manifests import import_image_files


class Command(DeerstalkerCommand):
    """Import a folder, one image, or a CSV manifest with a column ``file``."""

    help = "Import images into a project: a folder, one file, or a CSV manifest."

    def add_arguments(self, parser: ArgumentParser) -> None:
        """Declare the options."""
        super().add_arguments(parser)
        parser.add_argument("path", type=Path)
        parser.add_argument("--project", required=True, help="the project's short name")
        parser.add_argument("--limit", type=int, help="maximum number of images; default: all")

    def handle(self, *args: Any, **options: Any) -> None:
        """Import, and print how many were new."""
        project = find_project(options["project"])
        import_result = import_image_files(
            project=project, path=options["path"], limit=validate_image_limit(options["limit"])
        )
        result = {
            "project": project.slug,
            "images": len(import_result.images),
            "new": import_result.new,
            "known": import_result.known,
        }
        self.report(options, result, f"{import_result.new} new, {import_result.known} known already")
