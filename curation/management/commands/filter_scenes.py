"""``manage.py filter_scenes --project P [--decisions FILE --by USER]``."""

import csv
import io
from argparse import ArgumentParser
from collections import Counter
from pathlib import Path
from typing import Any

from django.contrib.auth import get_user_model
from django.db import transaction

from curation.management.triplet_options import find_triplet_project, read_file
from curation.models import SceneVerdict
from curation.selectors.triplets.scenes import find_scene, scene_outcomes, scene_tallies, scenes
from curation.services.triplets.scenes import ReaderDecision, decide_scene, parse_reasons, take_in_scenes
from hits.management.base import DeerstalkerCommand, input_error
from hits.models import Project
from hits.services.errors import Refused

COLUMNS = ("scene", "verdict", "reasons", "note")


class Command(DeerstalkerCommand):
    """Store a reader's verdicts on scenes from a file, or list the scenes with their states."""

    help = (
        "Without a file: list the scenes. With --decisions, a CSV with the columns scene, verdict (keep, drop or "
        "revise), reasons (separated by |) and note: store all of them, or none."
    )

    def add_arguments(self, parser: ArgumentParser) -> None:
        """Declare the flags."""
        super().add_arguments(parser)
        parser.add_argument("--project", required=True, help="the project's short name")
        parser.add_argument("--decisions", type=Path, metavar="FILE.csv", help="a reader's verdicts")
        parser.add_argument(
            "--by", default="", metavar="USER", help="the reader's account; needed with --decisions"
        )

    def handle(self, *args: Any, **options: Any) -> None:
        """Store the verdicts, then print the scenes or the number of each state."""
        project = find_triplet_project(options["project"])
        take_in_scenes(project)
        stored = 0
        if options["decisions"]:
            stored = _store(project, options["decisions"], options["by"])
        outcomes, tallies = scene_outcomes(project), scene_tallies(project)
        rows = list(scenes(project))
        counts = Counter(outcomes[row.pk].state.value for row in rows)
        if not options["decisions"] and not options["json"]:
            for row in rows:
                tally = tallies.get(row.public_id)
                agree = f"{tally.agree}/{tally.reviews}" if tally else "–"
                self.stdout.write(
                    f"{row.public_id} {outcomes[row.pk].state.value:10} {agree:5} {row.premise}"
                )
        text = ", ".join(f"{count} {state}" for state, count in sorted(counts.items())) or "no scenes"
        self.report(options, {"stored": stored, "scenes": dict(counts)}, text)


def _store(project: Project, path: Path, user_name: str) -> int:
    by = get_user_model().objects.filter(username=user_name).first()
    if by is None:
        raise input_error(f"--by {user_name or 'nobody'}: there is no such account; name the reader's")
    rows = _read(path)
    with transaction.atomic():
        for number, row in rows:
            where = f"--decisions {path.name}, row {number}"
            scene = find_scene(project, row["scene"].strip())
            if scene is None:
                raise input_error(f"{where}, scene: this project has no scene {row['scene']!r}")
            try:
                verdict = SceneVerdict(row["verdict"].strip())
            except ValueError as error:
                raise input_error(
                    f"{where}, verdict: {row['verdict']!r}; use keep, drop or revise"
                ) from error
            reasons = [name.strip() for name in (row.get("reasons") or "").split("|") if name.strip()]
            try:
                decision = ReaderDecision(verdict, parse_reasons(reasons), note=row.get("note") or "")
                decide_scene(scene=scene, decision=decision, by=by)
            except Refused as error:
                raise input_error(f"{where}, {error}") from error
    return len(rows)


def _read(path: Path) -> list[tuple[int, dict[str, str]]]:
    try:
        text = read_file(path, "--decisions").decode("utf-8-sig")
    except UnicodeDecodeError as error:
        raise input_error(f"--decisions {path}: is no UTF-8 text; save it as UTF-8") from error
    reader = csv.DictReader(io.StringIO(text, newline=""))
    header = reader.fieldnames or []
    missing = [name for name in COLUMNS[:2] if name not in header]
    if missing:
        found = ", ".join(header) or "empty"
        raise input_error(f"--decisions {path.name}: has no column {missing[0]}; the header is: {found}")
    return [(reader.line_num, {key: value or "" for key, value in row.items() if key}) for row in reader]
