"""``manage.py build_evaluation_sets --version V --out DIR [--split test] [--proposals RUN] [--boxes 100] …``."""

from argparse import ArgumentParser
from pathlib import Path
from typing import Any

from curation.families.sherlock.evaluation_plan import resolve_proposal_run
from curation.families.sherlock.evaluation_sets import WrittenSets, write_evaluation_sets
from curation.management.evaluation_options import add_evaluation_set_options, read_evaluation_set_options
from curation.management.file_messages import convert_input_errors
from curation.management.lookups import get_version, resolve_split
from hits.management.base import DeerstalkerCommand
from hits.management.lookups import find_project


class Command(DeerstalkerCommand):
    """Write the instances, sorted ids and private answer keys of the three tasks."""

    help = (
        "Write the leaderboard's three tasks from a sealed version, in the published layout: instances and sorted "
        "ids under public/, answer keys under held/."
    )
    has_version_option = True

    def add_arguments(self, parser: ArgumentParser) -> None:
        """Add the options."""
        super().add_arguments(parser)
        parser.add_argument("--out", required=True, type=Path, help="a new or empty folder")
        add_evaluation_set_options(parser)

    def handle(self, *args: Any, **options: Any) -> None:
        """Write the sets and print their contents."""
        project = find_project(options["project"]) if options["project"] else None
        version = get_version(options["version"], project)
        with convert_input_errors():
            written = write_evaluation_sets(
                version,
                split=resolve_split(version, options["split"]),
                out=options["out"],
                proposals=resolve_proposal_run(version, options["proposals"]),
                options=read_evaluation_set_options(options),
            )
        counts = ", ".join(f"{name} {count}" for name, count in written.expected_counts.items())
        self.report(
            options,
            _facts(written),
            f"{version.name}: {counts}; {len(written.files)} files under {written.folder}",
            *(f"left out: {count} {why.replace('_', ' ')}" for why, count in written.left_out.items()),
        )


def _facts(written: WrittenSets) -> dict[str, Any]:
    return {
        "out": str(written.folder),
        "expected": dict(written.expected_counts),
        "left_out": dict(written.left_out),
        "manifest_sha256": written.manifest_sha256,
        "files": len(written.files),
    }
