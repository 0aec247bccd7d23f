"""``manage.py import_nleye FOLDER --project P [--columns MAP] [--licence L] [--citation C]``."""

from argparse import ArgumentParser
from pathlib import Path
from typing import Any

from curation.families.nleye.columns import read_columns
from curation.management.file_messages import convert_input_errors
from curation.management.triplet_options import find_triplet_project
from curation.services.triplets.nleye_imports import PublishedFolder, import_nleye
from hits.management.base import DeerstalkerCommand
from hits.management.progress import ProgressLines


class Command(DeerstalkerCommand):
    """Import triplets in the published layout of NL-Eye; all of them or none."""

    help = "Import <split>_set.csv and images/<sample_id>/{premise,hypothesis1,hypothesis2}.png."

    def add_arguments(self, parser: ArgumentParser) -> None:
        """Declare the flags."""
        super().add_arguments(parser)
        parser.add_argument("folder", type=Path)
        parser.add_argument("--project", required=True, help="the project's short name")
        parser.add_argument(
            "--columns", type=Path, metavar="MAP", help="a TOML file with the names of the columns"
        )
        parser.add_argument(
            "--licence", default="", help="of the images, if provenance.jsonl names no licence"
        )
        parser.add_argument("--citation", default="", help="where the triplets come from")

    def handle(self, *args: Any, **options: Any) -> None:
        """Import the folder."""
        project = find_triplet_project(options["project"])
        progress = ProgressLines("Reading and storing images:", stream=self.stderr)
        with convert_input_errors():
            columns = read_columns(options["columns"]) if options["columns"] else None
            result = import_nleye(
                project=project,
                folder=PublishedFolder(options["folder"], columns, options["licence"], options["citation"]),
                by=None,
                report_progress=progress.advance,
            )
        facts = {
            "import": result.source.pk,
            "triplets": result.source.rows,
            "new": result.new,
            "unread_columns": list(result.unread),
        }
        unread = f"; columns that nothing reads: {', '.join(result.unread)}" if result.unread else ""
        self.report(options, facts, f"{result.source.rows} triplets, {result.new} new{unread}")
