"""Very many judgments, written straight into the database: a crowd of known quality over made-up pairs or sets."""

import uuid
from collections.abc import Iterator, Sequence
from dataclasses import dataclass, field
from datetime import UTC, datetime, timedelta
from typing import Any, TypeVar

import numpy as np

from hits.domain.states import AssignmentStatus, BatchState, HitState, JobState, SubmissionMatch
from hits.models import Assignment, Attempt, Batch, Hit, Image, Job, Project, Submission, Unit, Worker
from tests.support.loop import launched
from validation.kinds.observation_review.scales import SCALES

START = datetime(2026, 11, 2, 9, 0, tzinfo=UTC)
CHUNK = 5_000
CAREFUL, CARELESS, SPAMMING = 0.93, 0.6, 0.0
# How often each label is the true one, from the best to the worst.
_BASE = {"reasonable": (0.75, 0.2, 0.05), "boxes": (0.85, 0.12, 0.03), "interesting": (0.3, 0.4, 0.2, 0.1)}
_CLUES = (
    "a half-eaten plate",
    "wet umbrellas by the door",
    "a long queue",
    "muddy boots",
    "an open suitcase",
)
_ENDS = (
    "somebody was called away",
    "it rained a while ago",
    "the shop is about to open",
    "they go home tomorrow",
)
Row = TypeVar("Row")


@dataclass
class Crowd:
    """``redundancy`` of ``workers`` people judge each of ``items`` items; ``seed`` decides everything."""

    items: int
    redundancy: int = 3
    workers: int = 20
    seed: int = 1
    kind: str = "observation_review"
    people: list[Worker] = field(default_factory=list)

    @property
    def quality(self) -> list[float]:
        """How often each worker sees the truth: most are careful, some careless, the last tenth spams."""
        careful, careless = round(0.75 * self.workers), round(0.9 * self.workers)
        return [
            CAREFUL if n < careful else CARELESS if n < careless else SPAMMING for n in range(self.workers)
        ]


def fill(project: Project, images: Sequence[Image], crowd: Crowd) -> Batch:
    """Write one batch of judged units; every answer is confirmed and approved."""
    rng = np.random.default_rng(crowd.seed)
    batch = launched(project, [images[0]])
    Batch.objects.filter(pk=batch.pk).update(
        kind=crowd.kind,
        name=f"Judged by a crowd of {crowd.workers}",
        reward_cents=12,
        bonus_cents=0,
        state=BatchState.CLOSED,
        redundancy=crowd.redundancy,
        max_assignments=crowd.redundancy,
    )
    # No marketplace knows these HITs: a background worker must not go looking for them.
    Job.objects.filter(project=project, state=JobState.QUEUED).update(state=JobState.CANCELLED)
    crowd.people = Worker.objects.bulk_create(
        Worker(environment=batch.environment, worker_id=f"JUDGE{crowd.seed}X{n:05d}")
        for n in range(crowd.workers)
    )
    for numbers in _chunks(range(crowd.items), CHUNK):
        _write(batch, images, crowd, list(numbers), rng)
    batch.refresh_from_db()
    return batch


def _write(
    batch: Batch, images: Sequence[Image], crowd: Crowd, numbers: list[int], rng: np.random.Generator
) -> None:
    units = Unit.objects.bulk_create(_unit(batch, images, crowd, n) for n in numbers)
    hits = Hit.objects.bulk_create(
        Hit(
            unit=unit,
            environment=batch.environment,
            token=uuid.UUID(int=int(rng.integers(1 << 62))).hex,
            annotation="",
            state=HitState.LIVE,
            hit_id=f"MANY{crowd.seed}X{n:08d}",
            max_assignments=crowd.redundancy,
        )
        for n, unit in zip(numbers, units, strict=True)
    )
    quality = crowd.quality
    attempts, answers = [], []
    for n, hit in zip(numbers, hits, strict=True):
        truth = _truth(crowd.kind, rng)
        for judge in rng.choice(crowd.workers, size=crowd.redundancy, replace=False):
            attempts.append(
                Attempt(hit=hit, assignment_id=f"{hit.hit_id}A{judge}", worker=crowd.people[judge])
            )
            answers.append((_answer(crowd, n, truth, quality[judge], rng), _seconds(quality[judge], rng)))
    Attempt.objects.bulk_create(attempts)
    submissions = Submission.objects.bulk_create(
        Submission(
            attempt=attempt,
            client_uuid=uuid.uuid4(),
            kind=crowd.kind,
            kind_version=1,
            answer=answer,
            sha256=uuid.uuid4().hex * 2,
            active_seconds=seconds,
        )
        for attempt, (answer, seconds) in zip(attempts, answers, strict=True)
    )
    Assignment.objects.bulk_create(
        _assignment(submission, numbers[0] * crowd.redundancy + n) for n, submission in enumerate(submissions)
    )


def _unit(batch: Batch, images: Sequence[Image], crowd: Crowd, n: int) -> Unit:
    key = f"{crowd.seed:04x}{n:028x}"
    image = images[n % len(images)]
    box = {
        "left": image.width // 5,
        "top": image.height // 4,
        "width": image.width // 3,
        "height": image.height // 3,
    }
    clue, end = _CLUES[n % len(_CLUES)], _ENDS[n % len(_ENDS)]
    payload: dict[str, Any] = {"image": image.pk, "boxes": [box]}
    if crowd.kind == "likert_comparison":
        candidates = [
            {"id": f"{key[:24]}{c:08x}", "inference": f"{_ENDS[c % 4]}, {c + 1}"} for c in range(10)
        ]
        payload |= {"set": key, "clue": None, "candidates": candidates}
    else:
        payload |= {
            "observation": key, "obs_index": n % 5 + 1, "clue": clue, "inference": end, "confidence": 2
        }  # fmt: skip
    return Unit(batch=batch, key=key, payload=payload)


def _truth(kind: str, rng: np.random.Generator) -> dict[str, int] | list[int]:
    if kind == "likert_comparison":
        return rng.integers(1, 4, size=10).tolist()
    return {name: int(rng.choice(len(shares), p=shares)) for name, shares in _BASE.items()}


def _answer(crowd: Crowd, n: int, truth: Any, quality: float, rng: np.random.Generator) -> dict[str, Any]:
    if crowd.kind == "likert_comparison":
        return {
            "ratings": [
                {
                    "candidate": f"{crowd.seed:04x}{n:028x}"[:24] + f"{c:08x}",
                    "rating": value if rng.random() < quality else int(rng.integers(1, 4)),
                }
                for c, value in enumerate(truth)
            ]
        }
    answer = {}
    for dimension, words in SCALES.items():
        right = truth[dimension.value]
        seen = right if rng.random() < quality else int(rng.integers(len(words)))
        answer[dimension.value] = str(words[seen])
    return answer


def _seconds(quality: float, rng: np.random.Generator) -> float:
    return round(float(rng.lognormal(np.log(28.0 if quality else 6.0), 0.5)), 1)


def _assignment(submission: Submission, n: int) -> Assignment:
    attempt = submission.attempt
    at = START + timedelta(seconds=10 * n)
    return Assignment(
        hit=attempt.hit,
        assignment_id=attempt.assignment_id,
        worker=attempt.worker,
        status=AssignmentStatus.APPROVED,
        match=SubmissionMatch.MATCHED,
        submission=submission,
        answer_xml="",
        accepted_at=at,
        submitted_at=at,
        synced_at=at,
    )


def _chunks(rows: Sequence[Row], size: int) -> Iterator[Sequence[Row]]:
    for start in range(0, len(rows), size):
        yield rows[start : start + size]
