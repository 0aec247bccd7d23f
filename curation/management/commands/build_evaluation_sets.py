"""``manage.py build_evaluation_sets --version V --out DIR [--split test] [--proposals RUN] [--boxes 100] …``."""

from argparse import ArgumentParser
from pathlib import Path
from typing import Any

from curation.families.sherlock.evaluation_plan import chosen_proposals
from curation.families.sherlock.evaluation_sets import WrittenSets, write_evaluation_sets
from curation.management.evaluation_options import add_set_options, set_options
from curation.management.rows import split_called, version_called
from curation.records import InvalidInput
from hits.management.base import DeerstalkerCommand, bad_input, emit_json, interrupted
from hits.management.rows import project_called


class Command(DeerstalkerCommand):
    """Write instances, sorted ids and held answer keys of the three tasks."""

    help = (
        "Write the leaderboard's three tasks from a sealed version, in the published layout: instances and sorted "
        "ids under public/, answer keys under held/."
    )
    names_version = True

    def add_arguments(self, parser: ArgumentParser) -> None:
        """Declare the flags."""
        super().add_arguments(parser)
        parser.add_argument("--out", required=True, type=Path, help="a new or an empty folder")
        add_set_options(parser)

    def handle(self, *args: Any, **options: Any) -> None:
        """Write the sets and say what they hold."""
        project = project_called(options["project"]) if options["project"] else None
        version = version_called(options["version"], project)
        try:
            written = write_evaluation_sets(
                version,
                split=split_called(version, options["split"]),
                out=options["out"],
                proposals=chosen_proposals(version, options["proposals"]),
                options=set_options(options),
            )
        except InvalidInput as error:
            raise bad_input(str(error)) from error
        except KeyboardInterrupt as error:
            raise interrupted() from error
        if options["json"]:
            emit_json(self, _facts(written))
            return
        counts = ", ".join(f"{name} {count}" for name, count in written.expected.items())
        self.stdout.write(f"{version.name}: {counts}; {len(written.files)} files under {written.folder}")
        for reason, count in written.left_out.items():
            self.stdout.write(f"left out: {count} {reason.replace('_', ' ')}")


def _facts(written: WrittenSets) -> dict[str, Any]:
    return {
        "out": str(written.folder),
        "expected": dict(written.expected),
        "left_out": dict(written.left_out),
        "manifest_sha256": written.manifest_sha256,
        "files": len(written.files),
    }
