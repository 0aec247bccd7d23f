"""Many workers with confirmed work, written straight into the database."""

import uuid
from datetime import UTC, datetime, timedelta

from curation.models import Pair
from hits.domain.states import AssignmentStatus, HitState, SubmissionMatch
from hits.models import Assignment, Attempt, Batch, Hit, Image, Participation, Project, Submission, Worker
from tests.support.answers import observations
from tests.support.loop import launched
from tests.support.pairs import pair_row

START = datetime(2026, 11, 2, 9, 0, tzinfo=UTC)


def crowd(
    project: Project, image: Image, count: int, *, each: int = 1, rejected: int = 0, seconds: float = 240.0
) -> list[Worker]:
    """Return ``count`` new workers who agreed and handed in ``each`` submissions, the last ``rejected`` rejected."""
    batch = launched(project, [image])
    Batch.objects.filter(pk=batch.pk).update(
        redundancy=max(1, count * each), max_assignments=max(1, count * each)
    )
    hit = Hit.objects.get(unit__batch=batch)
    Hit.objects.filter(pk=hit.pk).update(state=HitState.LIVE, hit_id=f"HIT{hit.pk:08d}")
    tag = uuid.uuid4().hex[:8]
    workers = Worker.objects.bulk_create(
        Worker(environment=hit.environment, worker_id=f"CROWD{tag}{n:05d}") for n in range(count)
    )
    consent = project.consent_texts.latest("version")
    Participation.objects.bulk_create(
        Participation(project=project, worker=worker, consent=consent) for worker in workers
    )
    attempts = Attempt.objects.bulk_create(
        Attempt(hit=hit, assignment_id=f"{worker.worker_id}{turn:03d}", worker=worker)
        for worker in workers
        for turn in range(each)
    )
    submissions = Submission.objects.bulk_create(_submission(attempt, seconds) for attempt in attempts)
    Assignment.objects.bulk_create(
        _assignment(submission, n, refused=n % each >= each - rejected)
        for n, submission in enumerate(submissions)
    )
    return list(workers)


def pair_of(worker: Worker, image: Image, number: int) -> Pair:
    """Return a pair as ``collect`` writes it, of the worker's first submission."""
    submission = Submission.objects.filter(attempt__worker=worker).order_by("received_at")[0]
    row = pair_row(
        instance_id=uuid.uuid4().hex,
        submission=submission,
        image=image,
        index=number,
        clue="a cup",
        inference="Somebody had tea",
        confidence=2,
        boxes=[{"left": 2, "top": 3, "width": 10, "height": 12}],
    )
    row.save()
    return row


def _submission(attempt: Attempt, seconds: float) -> Submission:
    return Submission(
        attempt=attempt,
        client_uuid=uuid.uuid4(),
        kind="sherlock_observation",
        kind_version=1,
        answer=observations(),
        sha256=uuid.uuid4().hex * 2,
        active_seconds=seconds,
        hints=[{"rule": "pronoun", "dismissed": True}, {"rule": "short", "dismissed": False}],
    )


def _assignment(submission: Submission, n: int, *, refused: bool) -> Assignment:
    attempt = submission.attempt
    at = START + timedelta(minutes=n)
    return Assignment(
        hit=attempt.hit,
        assignment_id=attempt.assignment_id,
        worker=attempt.worker,
        status=AssignmentStatus.REJECTED if refused else AssignmentStatus.APPROVED,
        match=SubmissionMatch.MATCHED,
        submission=submission,
        answer_xml="",
        accepted_at=at,
        submitted_at=at,
        synced_at=at,
    )
