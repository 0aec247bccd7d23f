"""``manage.py check_media [--repair] [--originals FOLDER] [--json]``."""

from argparse import ArgumentParser
from pathlib import Path
from typing import Any

from django.core.management.base import CommandError

from hits.management.base import DeerstalkerCommand, bad_input, emit_json
from hits.services.images.media_check import FaultyFile, faulty_files, left_over_files, restore_photos


class Command(DeerstalkerCommand):
    """Read every file that a row points at, and name those that are not what the row says."""

    help = "Compare all files of the media folder with their rows. Exits with 1 while a file is faulty."

    def add_arguments(self, parser: ArgumentParser) -> None:
        """Declare the flags."""
        super().add_arguments(parser)
        parser.add_argument(
            "--repair",
            action="store_true",
            help="remove half-written files that nobody reads, and restore photos from --originals",
        )
        parser.add_argument(
            "--originals",
            type=Path,
            help="a folder with the files that photos were imported from (for --repair)",
        )

    def handle(self, *args: Any, **options: Any) -> None:
        """Check, mend if asked to, and report."""
        originals: Path | None = options["originals"]
        if originals is not None and not (options["repair"] and originals.is_dir()):
            raise bad_input("--originals: name an existing folder, together with --repair")
        faulty = list(faulty_files())
        left = list(left_over_files())
        restored: set[str] = set()
        if options["repair"]:
            for path in left:
                path.unlink(missing_ok=True)
            restored = restore_photos(faulty, originals) if originals is not None else set()
        remaining = [found for found in faulty if found.file.name not in restored]
        self._report(remaining, restored, len(left), as_json=options["json"], repaired=options["repair"])
        if remaining:
            raise CommandError(
                f"{len(remaining)} files are not what their rows say: bring them back from a backup, or photos with "
                "--repair --originals FOLDER",
                returncode=1,
            )

    def _report(
        self, faulty: list[FaultyFile], restored: set[str], left: int, *, as_json: bool, repaired: bool
    ) -> None:
        if as_json:
            emit_json(
                self,
                {
                    "faulty": [found.as_json() for found in faulty],
                    "restored": sorted(restored),
                    "left_over": left,
                    "left_over_removed": repaired,
                },
            )
            return
        for found in faulty:
            file = found.file
            self.stdout.write(f"{found.fault}: {file.kind} {file.owner}, {file.name} {found.detail}".rstrip())
        for name in sorted(restored):
            self.stdout.write(f"restored: {name}")
        if left:
            self.stdout.write(
                f"{left} half-written files {'removed' if repaired else 'can be removed: --repair'}"
            )
        if not faulty:
            self.stdout.write("every file is what its row says")
