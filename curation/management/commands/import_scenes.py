"""``manage.py import_scenes FILE --project P [--licence L] [--citation C]``."""

from argparse import ArgumentParser
from pathlib import Path
from typing import Any

from curation.image_triplets.scene_files import SceneFileError
from curation.management.triplet_options import find_triplet_project, list_problems, read_file
from curation.services.triplets.scene_imports import SceneFile, import_scenes
from hits.management.base import DeerstalkerCommand
from hits.services.errors import Refused


class Command(DeerstalkerCommand):
    """Import written scenes; a file with a bad row imports none."""

    help = "Import scenes from CSV or JSON lines: premise, plausible, implausible, category, direction, duration, …"

    def add_arguments(self, parser: ArgumentParser) -> None:
        """Declare the flags."""
        super().add_arguments(parser)
        parser.add_argument("file", type=Path)
        parser.add_argument("--project", required=True, help="the project's short name")
        parser.add_argument("--licence", default="", help="of scenes that name none themselves")
        parser.add_argument("--citation", default="", help="where the scenes come from")

    def handle(self, *args: Any, **options: Any) -> None:
        """Import the file."""
        project = find_triplet_project(options["project"])
        path: Path = options["file"]
        file = SceneFile(path.name, read_file(path, "file"), options["licence"], options["citation"])
        try:
            result = import_scenes(project=project, file=file, by=None)
        except Refused as error:
            cause = error.__cause__
            raise list_problems(str(error), cause if isinstance(cause, SceneFileError) else None) from error
        facts = {"import": result.source.pk, "scenes": result.source.rows, "new": result.new}
        self.report(options, facts, f"{path.name}: {result.source.rows} scenes, {result.new} new")
