"""``manage.py import_images PATH_OR_MANIFEST --project P``."""

from argparse import ArgumentParser
from pathlib import Path
from typing import Any

from hits.management.base import DeerstalkerCommand, emit_json
from hits.management.rows import checked_limit, project_called
from hits.services.images.manifests import import_path


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
        done = import_path(project=project, path=options["path"], limit=checked_limit(options["limit"]))
        result = {"project": project.slug, "images": len(done.images), "new": done.new, "known": done.known}
        if options["json"]:
            emit_json(self, result)
        else:
            self.stdout.write(f"{done.new} new, {done.known} known already")
