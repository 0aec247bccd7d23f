"""Applicants, their answers and their grades: made-up people who apply, train and stay away."""

import uuid
from collections.abc import Iterable, Mapping, Sequence
from datetime import UTC, datetime, timedelta
from typing import Any

from django.contrib.auth.models import User
from django.utils import timezone

from hits.domain.states import AssignmentStatus, HitState, SubmissionMatch
from hits.models import Assignment, Attempt, Batch, Hit, Image, Project, Submission, Worker
from hits.services.launching.terms import LaunchTerms
from validation.domain.qualification.outcome import PassRule
from validation.models import Grade, QualificationRound
from validation.selectors.grading import PairKey
from validation.services.grading import GradeInput, save_grade
from validation.services.rounds import Admission, ExamQuestion, launch_qualification_round

OBJECT_NAMES = ["mug", "coat", "kite", "bus", "cake", "dog", "ladder", "piano", "canoe"]
EXAM = (
    ExamQuestion("What does a clue name?", ("A thing in the photo", "A guess about people"), 0),
    ExamQuestion("Who may write “he”?", ("Everybody", "Nobody", "Only about a named person"), 1),
)


def application(unit: Mapping[str, Any], *, salt: str = "", right: int | None = None) -> dict[str, Any]:
    """Return a complete answer to a qualification unit, with ``right`` of its questions right (all by default)."""
    questions = unit["questions"]
    correct = len(questions) if right is None else right
    return {
        "images": [
            {
                "image": image,
                "description": f"Some things lie on a table, seen from above {salt}.".replace(" .", "."),
                "pairs": [_pair(place, number, salt) for number in range(3)],
            }
            for place, image in enumerate(unit["images"])
        ],
        "exam": [
            {
                "question": row["id"],
                "choice": row["right"] if n < correct else (row["right"] + 1) % len(row["choices"]),
            }
            for n, row in enumerate(questions)
        ],
    }


def _pair(place: int, number: int, salt: str) -> dict[str, Any]:
    object_name = OBJECT_NAMES[3 * place + number]
    return {
        "clue": f"a {object_name} {salt}".strip(),
        "inference": f"Somebody needed the {object_name} earlier today",
        "confidence": 1 + number,
    }


def qualification(
    project: Project,
    images: Sequence[Image],
    applicants: int,
    *,
    rule: PassRule | None = None,
    exam: bool = False,
    **more: Any,
) -> QualificationRound:
    """Return a launched round over the images in threes."""
    ids = [image.pk for image in images]
    rule = rule or PassRule()
    return launch_qualification_round(
        project=project,
        image_sets=[ids[n : n + 3] for n in range(0, len(ids), 3)],
        applicants=applicants,
        by=None,
        name="Spring applicants",
        admission=Admission(rule, EXAM if exam else (), more.pop("countries", ())),
        terms=LaunchTerms(),
        **more,
    )[0]


def grade(
    found: QualificationRound,
    submission: Submission,
    grader: User,
    *,
    reasonable: int = 9,
    note: str = "",
    items: Iterable[int] = range(9),
) -> None:
    """Let a grader go through a submission: the first ``reasonable`` pairs are, the others are not."""
    for item in items:
        is_reasonable = item < reasonable
        save_grade(
            qualification_round=found,
            grade=GradeInput(PairKey(submission.pk, item), is_reasonable, "" if is_reasonable else note),
            by=grader,
        )


def bulk_applicants(
    found: QualificationRound, count: int, *, graders: Sequence[User] = (), start: int = 0
) -> list[Worker]:
    """Write confirmed applications straight into the database, many at a time, graded by ``graders``."""
    hits = _live(found.batch)
    tag = uuid.uuid4().hex[:8]
    workers = Worker.objects.bulk_create(
        Worker(environment=hits[0].environment, worker_id=f"BULK{tag}{n:05d}")
        for n in range(start, start + count)
    )
    attempts = Attempt.objects.bulk_create(
        Attempt(hit=hits[n % len(hits)], assignment_id=f"BULK{tag}{n:05d}", worker=worker)
        for n, worker in enumerate(workers)
    )
    submissions = [_submission(attempt, n) for n, attempt in enumerate(attempts)]
    Submission.objects.bulk_create(submissions)
    Assignment.objects.bulk_create(_assignment(submission, n) for n, submission in enumerate(submissions))
    Grade.objects.bulk_create(
        Grade(
            submission=submission,
            item=item,
            reasonable=item < 7 + n % 3,
            note="" if item < 8 else "Too vague.",
            grader=grader,
        )
        for n, submission in enumerate(submissions)
        for grader in graders
        for item in range(9)
    )
    return workers


def _live(batch: Batch) -> list[Hit]:
    hits = list(Hit.objects.filter(unit__batch=batch).select_related("unit"))
    for hit in hits:
        Hit.objects.filter(pk=hit.pk).update(state=HitState.LIVE, hit_id=hit.hit_id or f"HIT{hit.pk:08d}")
    return hits


def _submission(attempt: Attempt, n: int) -> Submission:
    return Submission(
        attempt=attempt,
        client_uuid=uuid.uuid4(),
        kind="sherlock_qualification",
        kind_version=1,
        answer=application(attempt.hit.unit.payload, salt=f"no {n}"),
        sha256=f"{n:064d}",
        active_seconds=300.0 + n,
    )


def _assignment(submission: Submission, n: int) -> Assignment:
    attempt = submission.attempt
    return Assignment(
        hit=attempt.hit,
        assignment_id=attempt.assignment_id,
        worker=attempt.worker,
        status=AssignmentStatus.SUBMITTED,
        match=SubmissionMatch.MATCHED,
        submission=submission,
        answer_xml="<Answer/>",
        submitted_at=datetime(2026, 11, 20, 9, 0, tzinfo=UTC) + timedelta(minutes=n),
        synced_at=timezone.now(),
    )
