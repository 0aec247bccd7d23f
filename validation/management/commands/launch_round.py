"""``manage.py launch_round qualification|training --project P …``."""

import json
from argparse import ArgumentParser
from pathlib import Path
from typing import Any

from hits import registry
from hits.management.base import DeerstalkerCommand, RenamedOption, input_error
from hits.management.lookups import find_project
from hits.management.publishing import available_balance_cents, print_live_hit_count, publish_launched_batch
from hits.models import Batch, Project
from hits.selectors.images.images import list_usable_images
from hits.services.launching.terms import LaunchTerms
from validation.domain.qualification.outcome import PassRule
from validation.selectors.rounds import images_for_kind, qualification_kind
from validation.services.rounds import (
    Admission,
    ExamQuestion,
    default_pass_rule,
    exam_questions,
    group_into_sets,
    launch_qualification_round,
    launch_training_round,
    number_word,
)

_QUESTION_FIELDS = {"text", "choices", "right"}


class Command(DeerstalkerCommand):
    """Launch a qualification or a training round, and publish it before returning."""

    help = "Launch a qualification or a training round, and publish its HITs."

    def add_arguments(self, parser: ArgumentParser) -> None:
        """Declare the flags."""
        super().add_arguments(parser)
        parser.add_argument("round", choices=["qualification", "training"])
        parser.add_argument("--project", required=True)
        parser.add_argument(
            "--assignments",
            "--places",
            action=RenamedOption,
            type=int,
            required=True,
            help="number of applicants, or of training tasks",
        )
        parser.add_argument(
            "--images",
            default="",
            help="image numbers, separated by commas; default: the oldest ones that can be used",
        )
        parser.add_argument(
            "--sets", type=int, default=1, help="qualification: number of sets of images; default: 1"
        )
        parser.add_argument(
            "--limit", type=int, default=10, help="training: maximum number of images; default: 10"
        )
        parser.add_argument(
            "--needed",
            type=int,
            help="reasonable items, such as pairs, that an applicant needs to pass; default: the kind's",
        )
        parser.add_argument(
            "--exam",
            type=Path,
            help="JSON file: list of {text, choices, right}; right is the number of the correct choice, from 1",
        )
        parser.add_argument(
            "--exam-needed", type=int, help="required correct answers of the exam; default: the kind's"
        )
        parser.add_argument("--graders", type=int, default=1, help="graders per item, 1 (default) or 2")
        parser.add_argument(
            "--countries", default="", help="codes such as US,CA,GB,AU; default: all countries"
        )
        parser.add_argument("--reward-cents", type=int, help="reward per submission; default: the kind's")
        parser.add_argument(
            "--confirm-cents",
            type=int,
            help="maximum cost in cents; required on a live marketplace and above the project's threshold",
        )
        parser.add_argument("--name", default="", help="name of the round; shown to workers")

    def handle(self, *args: Any, **options: Any) -> None:
        """Launch and publish."""
        project = find_project(options["project"])
        terms = LaunchTerms(
            reward_cents=options["reward_cents"],
            confirmed_cents=options["confirm_cents"],
            available_cents=available_balance_cents(),
        )
        countries = options["countries"].upper().replace(",", " ").split()
        if options["round"] == "qualification":
            batch = _launch_qualification(project, terms, countries, options)
        else:
            batch = _launch_training(project, terms, countries, options)
        print_live_hit_count(self, options, publish_launched_batch(batch))


def _launch_qualification(
    project: Project, terms: LaunchTerms, countries: list[str], options: dict[str, Any]
) -> Batch:
    kind = registry.get_kind(qualification_kind(project))
    photos = kind.exam_rule.photos
    ids = _parse_image_numbers(options["images"])
    if len(ids) % photos:
        raise input_error(f"--images: use a multiple of {number_word(photos)}; there are {len(ids)}")
    sets = [ids[n : n + photos] for n in range(0, len(ids), photos)] or group_into_sets(
        images_for_kind(project, kind), options["sets"], photos
    )
    questions = _read_questions(options["exam"]) if options["exam"] else []
    default = default_pass_rule(kind, len(exam_questions(kind, questions)))
    rule = PassRule(
        default.needed if options["needed"] is None else options["needed"],
        default.exam_needed if options["exam_needed"] is None else options["exam_needed"],
        options["graders"],
    )
    found, _ = launch_qualification_round(
        project=project,
        image_sets=sets,
        applicants=options["assignments"],
        by=None,
        name=options["name"],
        admission=Admission(rule, questions, countries),
        terms=terms,
    )
    batch: Batch = found.batch
    return batch


def _launch_training(
    project: Project, terms: LaunchTerms, countries: list[str], options: dict[str, Any]
) -> Batch:
    image_count = min(options["limit"], options["assignments"])
    ids = _parse_image_numbers(options["images"]) or [
        image.pk for image in list_usable_images(project)[: max(0, image_count)]
    ]
    return launch_training_round(
        project=project,
        images=ids,
        slots=options["assignments"],
        by=None,
        name=options["name"],
        countries=countries,
        terms=terms,
    )[0]


def _parse_image_numbers(text: str) -> list[int]:
    try:
        return [int(part) for part in text.replace(",", " ").split()]
    except ValueError as error:
        raise input_error(f"--images {text}: use numbers separated by commas, such as 4,8,15") from error


def _read_questions(path: Path) -> list[ExamQuestion]:
    try:
        rows = json.loads(path.read_text("utf-8"))
    except (OSError, UnicodeDecodeError, ValueError) as error:
        raise input_error(f"--exam {path}: {error}") from error
    if not isinstance(rows, list):
        raise input_error(f"--exam {path}: use a list of questions")
    return [_read_question(path, number, row) for number, row in enumerate(rows, start=1)]


def _read_question(path: Path, number: int, row: Any) -> ExamQuestion:
    where = f"--exam {path}: question {number}"
    if not isinstance(row, dict) or set(row) != _QUESTION_FIELDS or not isinstance(row["choices"], list):
        raise input_error(f"{where}: needs text, choices (a list) and right (a number from 1)")
    choices = tuple(str(choice) for choice in row["choices"])
    if type(row["right"]) is not int or not 1 <= row["right"] <= len(choices):
        raise input_error(f"{where}: right is {row['right']!r}; use 1 to {len(choices)}")
    return ExamQuestion(str(row["text"]), choices, row["right"] - 1)
