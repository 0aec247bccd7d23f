"""``manage.py check_media [--repair] [--originals FOLDER] [--json]``."""

from argparse import ArgumentParser
from pathlib import Path
from typing import Any

from django.core.management.base import CommandError

from hits.management.base import DeerstalkerCommand, input_error
from hits.services.images.media_check import (
    FaultyFile,
    find_faulty_files,
    find_leftover_files,
    restore_photos,
)


class Command(DeerstalkerCommand):
    """Compare every stored file with its row."""

    help = "Compare all files of the media folder with their database rows. Exits with 1 if a file is faulty."

    def add_arguments(self, parser: ArgumentParser) -> None:
        """Declare the options."""
        super().add_arguments(parser)
        parser.add_argument(
            "--repair",
            action="store_true",
            help="delete incomplete temporary files, and restore photos from --originals",
        )
        parser.add_argument(
            "--originals",
            type=Path,
            help="folder with the original photo files (for --repair)",
        )

    def handle(self, *args: Any, **options: Any) -> None:
        """Check, repair with ``--repair``, and report."""
        originals: Path | None = options["originals"]
        if originals is not None and not (options["repair"] and originals.is_dir()):
            raise input_error("--originals: name an existing folder, together with --repair")
        faulty = list(find_faulty_files())
        left_over = list(find_leftover_files())
        restored: set[str] = set()
        if options["repair"]:
            for path in left_over:
                path.unlink(missing_ok=True)
            restored = restore_photos(faulty, originals) if originals is not None else set()
        remaining = [found for found in faulty if found.file.name not in restored]
        self._print_result(options, remaining, restored, len(left_over))
        if remaining:
            raise CommandError(
                f"{len(remaining)} files do not match their rows: restore them from a backup; photos can also "
                "be restored with --repair --originals FOLDER",
                returncode=1,
            )

    def _print_result(
        self, options: dict[str, Any], faulty: list[FaultyFile], restored: set[str], left_over: int
    ) -> None:
        facts = {
            "faulty": [found.as_json() for found in faulty],
            "restored": sorted(restored),
            "left_over": left_over,
            "left_over_removed": options["repair"],
        }
        lines = [
            f"{found.fault}: {found.file.kind} {found.file.owner}, {found.file.name} {found.detail}".rstrip()
            for found in faulty
        ]
        lines += [f"restored: {name}" for name in sorted(restored)]
        if left_over:
            remedy = "removed" if options["repair"] else "can be removed with --repair"
            lines.append(f"{left_over} incomplete files {remedy}")
        self.report(options, facts, *lines, *([] if faulty else ["every file matches its row"]))
