"""Play parts of the loop through services and the in-process marketplace, without a browser."""

import uuid
from typing import Any

from hits.domain.states import ReviewVerdict
from hits.models import Assignment, Batch, Hit, Image, Project, Submission
from hits.mturk.boto import marketplace
from hits.services.collecting import assignment_sync, submit
from hits.services.collecting.page_keys import PageKey
from hits.services.launching.launch import PlannedUnit, launch_batch
from hits.services.launching.terms import LaunchTerms
from hits.services.publishing import publish
from hits.services.reviewing import review


def launched(
    project: Project,
    images: list[Image],
    *,
    kind: str = "sherlock_observation",
    terms: LaunchTerms | None = None,
) -> Batch:
    """Return a batch with one unit per image, not yet published."""
    units = [PlannedUnit(key=str(image.pk), payload={"image": image.pk}) for image in images]
    return launch_batch(
        project=project, kind_name=kind, name="Batch", units=units, by=None, terms=terms or LaunchTerms()
    )[0]


def published(project: Project, images: list[Image], **more: Any) -> Batch:
    """Return a batch that is live on the in-process marketplace. Needs a transactional test."""
    batch = launched(project, images, **more)
    publish.publish_batch(batch=batch, marketplace=marketplace())
    batch.refresh_from_db()
    return batch


def page_key(hit: Hit, assignment_id: str, worker_id: str) -> PageKey:
    """Return the key that the HIT page's token would carry."""
    assert hit.hit_id is not None
    return PageKey(str(hit.unit.public_id), hit.hit_id, assignment_id, worker_id)


def store(key: PageKey, answer: dict[str, Any], **more: Any) -> Submission:
    """Agree to the consent text, open the task and store an answer, as the page does."""
    submit.record_consent(key=key, version=1, country="US")
    submit.open_attempt(key)
    values = {"client_uuid": uuid.uuid4(), "active_seconds": 123.0} | more
    return submit.store_submission(key=key, answer=answer, **values)[0]


def collected(batch: Batch) -> list[Assignment]:
    """Copy the marketplace's assignments and return them."""
    assignment_sync.sync_batch(batch=batch, marketplace=marketplace())
    return list(Assignment.objects.filter(hit__unit__batch=batch))


def approve(assignment: Assignment) -> None:
    """Approve and pay one assignment."""
    decision = review.decide_assignment(assignment=assignment, verdict=ReviewVerdict.APPROVE, by=None)
    review.settle_decision(decision=decision, marketplace=marketplace())
