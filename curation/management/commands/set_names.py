"""``manage.py set_names FILE --project P [--movie FILM] [--json]``."""

from argparse import ArgumentParser
from pathlib import Path
from typing import Any

from curation.services.avoided_names import set_avoided_names
from hits.management.base import DeerstalkerCommand, input_error
from hits.management.lookups import find_project


class Command(DeerstalkerCommand):
    """Replace the list of names that workers are advised not to use in their texts."""

    help = (
        "Replace the names that texts should not use, such as those of a film's actors: one name per line of FILE. "
        "An empty file removes them. Tasks that are launched later have the new names."
    )

    def add_arguments(self, parser: ArgumentParser) -> None:
        """Declare the options."""
        super().add_arguments(parser)
        parser.add_argument("file", type=Path, help="a text file in UTF-8")
        parser.add_argument("--project", required=True, help="the project's short name")
        parser.add_argument("--movie", default="", help="the film; default: all photos of the project")

    def handle(self, *args: Any, **options: Any) -> None:
        """Read and store the names."""
        path: Path = options["file"]
        project = find_project(options["project"])
        try:
            lines = path.read_text("utf-8").splitlines()
        except OSError as error:
            raise input_error(f"{path}: cannot be read: {error.strerror}") from error
        except UnicodeDecodeError as error:
            raise input_error(f"{path}: is not UTF-8; save it as UTF-8") from error
        movie = options["movie"]
        names = set_avoided_names(project=project, names=lines, movie=movie, by=None)
        facts = {"project": project.slug, "movie": movie, "names": len(names)}
        self.report(options, facts, f"{len(names)} names for {movie or 'all photos'}")
