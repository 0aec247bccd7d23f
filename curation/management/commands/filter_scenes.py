"""``manage.py filter_scenes --project P [--decisions FILE --by USER]``."""

import csv
import io
from argparse import ArgumentParser
from collections import Counter
from pathlib import Path
from typing import Any

from django.contrib.auth import get_user_model
from django.db import transaction

from curation.image_triplets.scene_files import SceneFileError
from curation.management.triplet_options import find_triplet_project, list_problems, read_file
from curation.models import Scene, SceneVerdict
from curation.selectors.triplets.scenes import (
    SceneTally,
    find_scene,
    scene_outcomes,
    scene_tallies,
    scenes,
)
from curation.services.triplets.scenes import ReaderDecision, decide_scene, parse_reasons, take_in_scenes
from hits.domain.states import Role
from hits.management.base import DeerstalkerCommand, input_error
from hits.models import Project
from hits.selectors.roles import has_role
from hits.services.errors import Refused

COLUMNS = ("scene", "verdict", "reasons", "note")
VERDICTS = (SceneVerdict.KEEP.value, SceneVerdict.DROP.value, SceneVerdict.REVISE.value)
MAX_SHOWN = 40  # characters of a wrong value in a message


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
        listed = [_facts(row, outcomes[row.pk].state.value, tallies.get(row.public_id)) for row in rows]
        if not options["decisions"] and not options["json"]:
            self.stdout.write(f"{'scene':32} {'state':10} {'category':10} agree premise")
            for facts in listed:
                agree = f"{facts['agree']}/{facts['reviews']}" if facts["reviews"] else "–"
                self.stdout.write(
                    f"{facts['scene']} {facts['state']:10} {facts['category']:10} {agree:5} {facts['premise']}"
                )
            self.stdout.write("agree: reviewers who found the author's hypothesis the more plausible one")
        text = ", ".join(f"{count} {state}" for state, count in sorted(counts.items())) or "no scenes"
        found: dict[str, Any] = {"stored": stored, "scenes": dict(counts)}
        self.report(options, found if options["decisions"] else {**found, "rows": listed}, text)


def _facts(scene: Scene, state: str, tally: SceneTally | None) -> dict[str, Any]:
    """Return what a reader decides by: the scene's id and premise, its state, and what reviewers answered."""
    tally = tally or SceneTally()
    return {
        "scene": scene.public_id,
        "state": state,
        "category": scene.category,
        "reviews": tally.reviews,
        "agree": tally.agree,
        "needs_premise": tally.needs_premise,
        "drawable": tally.drawable,
        "seen": tally.seen,
        "premise": scene.premise,
    }


def _store(project: Project, path: Path, user_name: str) -> int:
    if not user_name:
        raise input_error("--by is missing: give the account of the reader who decided")
    by = get_user_model().objects.filter(username=user_name).first()
    if by is None:
        raise input_error(f"--by {user_name}: there is no such account; name the reader's")
    if not has_role(by, project, Role.RESEARCHER):
        raise input_error(f"--by {user_name}: is no researcher of {project.slug}; name one who is")
    rows = _read(path)
    first: dict[str, int] = {}
    problems = []
    with transaction.atomic():
        for number, row in rows:
            name = row["scene"].strip()
            earlier = first.setdefault(name, number)
            try:
                if earlier != number:
                    raise Refused(f"scene: row {earlier} decides about it too; keep one of them")
                decide_scene(scene=_scene(project, name), decision=_decision(row), by=by)
            except Refused as error:
                problems.append(f"--decisions {path.name}, row {number}, {error}")
        if problems:
            found = SceneFileError(problems, rows=len(problems))
            raise list_problems(str(found), found)
    return len(rows)


def _scene(project: Project, name: str) -> Scene:
    scene = find_scene(project, name)
    if scene is None:
        raise Refused(f"scene: this project has no scene {name[:MAX_SHOWN]!r}; copy its id from the list")
    return scene


def _decision(row: dict[str, str]) -> ReaderDecision:
    """Return the decision of a row. Raises Refused."""
    verdict = row["verdict"].strip()
    if verdict not in VERDICTS:
        raise Refused(f"verdict: {verdict[:MAX_SHOWN]!r}; use {', '.join(VERDICTS)}")
    reasons = [name.strip() for name in row.get("reasons", "").split("|") if name.strip()]
    return ReaderDecision(SceneVerdict(verdict), parse_reasons(reasons), note=row.get("note", ""))


def _read(path: Path) -> list[tuple[int, dict[str, str]]]:
    try:
        text = read_file(path, "--decisions").decode("utf-8-sig")
    except UnicodeDecodeError as error:
        raise input_error(f"--decisions {path}: is no UTF-8 text; save it as UTF-8") from error
    lines = csv.reader(io.StringIO(text, newline=""), strict=True)
    try:
        return _rows(lines, path)
    except csv.Error as error:
        raise input_error(
            f"--decisions {path.name}, row {lines.line_num}: is not readable CSV ({error}); save the file as CSV"
        ) from error


def _rows(lines: Any, path: Path) -> list[tuple[int, dict[str, str]]]:
    """Return the number and the values of each row of a CSV reader."""
    header: list[str] = next(lines, [])
    missing = [name for name in COLUMNS[:2] if name not in header]
    if missing:
        found = ", ".join(header) or "empty"
        raise input_error(
            f"--decisions {path.name}: has no column {missing[0]}; add it; the header is: {found[:400]}"
        )
    rows = []
    for cells in lines:
        if len(cells) > len(header):
            raise input_error(
                f"--decisions {path.name}, row {lines.line_num}: has {len(cells)} values and the header has "
                f"{len(header)}; correct the line"
            )
        if any(cells):
            rows.append((lines.line_num, dict(zip(header, cells + [""] * len(header), strict=False))))
    return rows
