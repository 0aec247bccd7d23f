"""Write submissions and assignments through the platform's own services, playing the marketplace's part."""

import uuid
from dataclasses import dataclass, field
from datetime import UTC, datetime, timedelta
from typing import Any

from curation.models import Pair
from hits.domain.mturk_formats.answer_xml import build_answer
from hits.domain.states import AssignmentStatus, HitState
from hits.models import Assignment, Batch, Hit, Image, Project, Submission
from hits.mturk.port import RemoteAssignment
from hits.services.collecting import assignment_sync, submit
from hits.services.collecting.page_keys import PageKey
from hits.services.images.import_image import ImageDescription, import_image
from hits.services.launching.launch import PlannedUnit, launch_batch
from hits.services.launching.terms import LaunchTerms
from tests.support.answers import observations
from tests.support.pictures import picture

START = datetime(2026, 11, 20, 9, 0, tzinfo=UTC)


@dataclass
class Work:
    """Makes images, batches and confirmed answers in one project."""

    project: Project
    clock: datetime = START
    count: int = 0
    consented: set[str] = field(default_factory=set)  # a page asks a worker once

    def image(self, seed: int = 0, **about: Any) -> Image:
        """Import a small picture."""
        image, _ = import_image(
            project=self.project,
            name=f"photo-{seed}.png",
            data=picture(seed=seed),
            description=ImageDescription(**about),
        )
        return image

    def observed(
        self,
        image: Image,
        *,
        worker: str = "W1",
        status: AssignmentStatus = AssignmentStatus.APPROVED,
        confirmed: bool = True,
        count: int = 3,
        salt: str = "",
        answer: dict[str, Any] | None = None,
    ) -> list[Pair]:
        """Return the pairs of one worker's answer about an image (none while unconfirmed); ``answer`` or any."""
        batch, _ = launch_batch(
            project=self.project,
            kind_name="sherlock_observation",
            name="Batch",
            units=[PlannedUnit(key=str(image.pk), payload={"image": image.pk})],
            by=None,
            terms=LaunchTerms(),
        )
        self.publish(batch)
        hit = Hit.objects.get(unit__batch=batch)
        submission = self.answered(
            hit,
            worker,
            answer or observations(count, salt=salt or f"{worker} {image.pk}"),
            status=status,
            confirmed=confirmed,
        )
        return list(Pair.objects.filter(submission=submission))

    def publish(self, batch: Batch) -> None:
        """Give the batch's HITs ids, as if the marketplace had taken them."""
        for hit in Hit.objects.filter(unit__batch=batch):
            Hit.objects.filter(pk=hit.pk).update(state=HitState.LIVE, hit_id=f"HIT{hit.pk:08d}")

    def answered(
        self,
        hit: Hit,
        worker: str,
        answer: dict[str, Any],
        *,
        status: AssignmentStatus = AssignmentStatus.APPROVED,
        confirmed: bool = True,
        simulated: bool = False,
    ) -> Submission:
        """Store an answer as the page does; ``confirmed`` lets the marketplace show it too."""
        self.count += 1
        self.clock += timedelta(minutes=1)
        hit.refresh_from_db()
        key = PageKey(str(hit.unit.public_id), str(hit.hit_id), f"ASSIGNMENT{self.count:06d}", worker)
        if worker not in self.consented:
            submit.record_consent(key=key, version=1, country="US")
            self.consented.add(worker)
        submit.open_attempt(key)
        submission, _ = submit.store_submission(
            key=key, client_uuid=uuid.uuid4(), answer=answer, active_seconds=60.0, simulated=simulated
        )
        if confirmed:
            self._shown(hit, key, submission, status)
        return submission

    def _shown(self, hit: Hit, key: PageKey, submission: Submission, status: AssignmentStatus) -> Assignment:
        remote = RemoteAssignment(
            assignment_id=key.assignment_id,
            worker_id=key.worker_id,
            status=status.value,
            accepted_at=self.clock,
            submitted_at=self.clock,
            auto_approves_at=None,
            answer_xml=build_answer([("submission_id", str(submission.pk)), ("sha256", submission.sha256)]),
        )
        return assignment_sync.record_assignment(hit=hit, remote=remote)[0]


def review(
    reasonable: str = "highly", boxes: str = "appropriate", interesting: str = "very"
) -> dict[str, str]:
    """Return an answer of observation_review."""
    return {"reasonable": reasonable, "boxes": boxes, "interesting": interesting}


def ratings(hit: Hit, *values: int) -> dict[str, Any]:
    """Return an answer of likert_comparison: the values in turn, over the unit's candidates."""
    candidates = hit.unit.payload["candidates"]
    return {
        "ratings": [
            {"candidate": c["id"], "rating": values[n % len(values)]} for n, c in enumerate(candidates)
        ]
    }
