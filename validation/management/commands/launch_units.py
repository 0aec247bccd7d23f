"""``manage.py launch_units KIND --project P --units FILE.jsonl …``, ``--from-photos``, or ``--example``."""

import hashlib
from argparse import ArgumentParser
from io import BytesIO
from pathlib import Path
from typing import Any

from hits.domain.answers.storable_json import replace_unstorable
from hits.domain.units.unit_files import MAX_BYTES, MAX_PROBLEMS
from hits.kind import HitKind
from hits.management.base import DeerstalkerCommand, input_error
from hits.management.launch_options import add_terms_options, read_terms
from hits.management.lookups import find_project
from hits.management.photo_options import add_photo_options, choose_photos, given_photo_flags
from hits.management.publishing import print_live_hit_count, publish_launched_batch
from hits.models import Project
from hits.services.errors import Refused
from hits.services.launching.unit_files import BadUnitFile, ParsedUnits, build_example_file
from validation.domain.judging.quality_check_types import CheckRates, QualityCheckError
from validation.services.units import (
    find_unit_file_kind,
    launch_from_file,
    plan_photo_units,
    read_unit_file,
)


class Command(DeerstalkerCommand):
    """Launch the units of a file, all or none, and publish them before returning."""

    help = (
        "Launch units of one kind from a file, one JSON object per line. A text photo:NAME refers to the photo with "
        "that file name or SHA-256. All lines are checked before the launch."
    )

    def add_arguments(self, parser: ArgumentParser) -> None:
        """Declare the flags."""
        super().add_arguments(parser)
        parser.add_argument("kind")
        parser.add_argument("--project", required=True, help="the project's short name")
        source = parser.add_mutually_exclusive_group(required=True)
        source.add_argument("--units", type=Path, metavar="FILE.jsonl", help="one unit per line")
        source.add_argument(
            "--from-photos",
            action="store_true",
            help="plan the units from photos; judging kinds that take photos only",
        )
        source.add_argument("--example", action="store_true", help="print an example file, and stop")
        add_photo_options(parser)
        add_terms_options(parser, reward_needed=False)
        for role in ("gold", "attention", "repeat"):
            parser.add_argument(
                f"--{role}",
                type=int,
                default=0,
                metavar="PERCENT",
                help=f"quality checks of type {role}, in percent of the units, 0 (default) to 50; judging kinds only",
            )
        parser.add_argument(
            "--name", default="", help="name of the batch; shown to workers in the task's description"
        )

    def handle(self, *args: Any, **options: Any) -> None:
        """Read, launch and publish; or print the example."""
        project = find_project(options["project"])
        try:
            kind = find_unit_file_kind(options["kind"])
        except Refused as error:
            raise input_error(str(error)) from error
        if options["example"]:
            self.stdout.write(build_example_file(project=project, kind=kind), ending="")
            return
        units, origin = (_plan if options["from_photos"] else self._read)(project, kind, options)
        try:
            rates = CheckRates(options["gold"], options["attention"], options["repeat"])
        except QualityCheckError as error:
            raise input_error(f"--{error}") from error
        batch, _ = launch_from_file(
            project=project,
            kind=kind,
            units=units,
            by=None,
            name=options["name"],
            terms=read_terms(project, kind, options),
            rates=rates,
            source=origin,
        )
        print_live_hit_count(self, options, publish_launched_batch(batch), units=len(units))

    def _read(
        self, project: Project, kind: HitKind, options: dict[str, Any]
    ) -> tuple[ParsedUnits, dict[str, Any]]:
        """Return the units of a file, and the file's name and hash."""
        path: Path = options["units"]
        for flag in given_photo_flags(options):
            raise input_error(
                f"{flag}: chooses photos, but the units come from {path}; leave one of them out"
            )
        try:
            with path.open("rb") as file:
                data = file.read(MAX_BYTES + 1)  # read once: the path may be a pipe
            units = read_unit_file(project=project, kind=kind, file=BytesIO(data), name=str(path))
        except OSError as error:
            raise input_error(f"--units {path}: cannot be read: {error.strerror}") from error
        except BadUnitFile as error:
            for problem in error.problems[1:MAX_PROBLEMS]:
                self.stderr.write(problem)
            raise input_error(f"--units {error}") from error
        return units, {"name": replace_unstorable(path.name), "sha256": hashlib.sha256(data).hexdigest()}


def _plan(project: Project, kind: HitKind, options: dict[str, Any]) -> tuple[ParsedUnits, dict[str, Any]]:
    """Return the units for the chosen photos, and the choice."""
    photos, selection = choose_photos(project, kind, options)
    try:
        return plan_photo_units(project=project, kind=kind, photos=photos), {"photos": selection}
    except Refused as error:
        raise input_error(f"--from-photos: {error}") from error
