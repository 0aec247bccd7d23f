"""``manage.py import_images PATH_OR_MANIFEST --project P``."""

from argparse import ArgumentParser
from pathlib import Path
from typing import Any

from hits.management.base import DeerstalkerCommand, bad_input, emit_json
from hits.management.rows import project_called
from hits.services.errors import Refused
from hits.services.manifests import import_path


class Command(DeerstalkerCommand):
    """Import a folder, one picture, or a CSV manifest with a column ``file``."""

    help = "Import pictures into a project: a folder, one file, or a CSV manifest."

    def add_arguments(self, parser: ArgumentParser) -> None:
        """Declare the flags."""
        super().add_arguments(parser)
        parser.add_argument("path", type=Path)
        parser.add_argument("--project", required=True, help="the project's short name")
        parser.add_argument("--limit", type=int, help="take at most this many")

    def handle(self, *args: Any, **options: Any) -> None:
        """Import, and say how many were new."""
        project = project_called(options["project"])
        if options["limit"] is not None and options["limit"] < 1:
            raise bad_input(f"--limit {options['limit']}: take at least one image")
        try:
            done = import_path(project=project, path=options["path"], limit=options["limit"])
        except Refused as error:
            raise bad_input(str(error)) from error
        result = {"project": project.slug, "images": len(done.images), "new": done.new, "known": done.known}
        if options["json"]:
            emit_json(self, result)
        else:
            self.stdout.write(f"{done.new} new, {done.known} known already")
