"""What a HIT page needs to know. Nothing here writes: a GET proves nothing about who asks."""

import uuid
from typing import Any

from django.utils.translation import gettext_noop

from hits import registry
from hits.models import Attempt, ConsentText, Hit, Participation, Project, Unit, Worker
from hits.selectors.images.images import facts_of

OWN_WORK = gettext_noop(
    "This task is about your own work, or you judged it before, so somebody else has to do it."
)


def unit_by_public_id(public_id: uuid.UUID) -> Unit | None:
    """Return a unit with its batch and project, or ``None``."""
    return (
        Unit.objects.select_related("batch__project", "batch__instructions")
        .filter(public_id=public_id)
        .first()
    )


def known_worker(environment: str, worker_id: str) -> Worker | None:
    """Return a worker who has worked here before, or ``None``."""
    return Worker.objects.filter(environment=environment, worker_id=worker_id).first()


def current_consent(project: Project) -> ConsentText | None:
    """Return the newest consent text of a project."""
    return project.consent_texts.order_by("-version").first()


def agreed(worker: Worker | None, project: Project) -> bool:
    """Tell whether the worker agreed to the newest consent text; a project without one asks for nothing."""
    consent = current_consent(project)
    if consent is None:
        return True
    return worker is not None and Participation.objects.filter(worker=worker, consent=consent).exists()


def hit_of(unit: Unit, hit_id: str) -> Hit | None:
    """Return the unit's HIT of that id, with ``unit`` at hand, or ``None``."""
    hit = unit.hits.filter(hit_id=hit_id).first() if hit_id else None
    if hit is not None:
        hit.unit = unit
    return hit


def attempt_at(worker: Worker | None, hit: Hit, assignment_id: str) -> Attempt | None:
    """Return the worker's attempt at this assignment, if they opened it before."""
    if worker is None:
        return None
    rows = Attempt.objects.select_related("hit__unit__batch")
    return rows.filter(worker=worker, hit=hit, assignment_id=assignment_id).first()


def page_unit_of(attempt: Attempt) -> dict[str, Any]:
    """Return the unit as an attempt's page shows it, in the order of its arm."""
    unit = attempt.hit.unit
    kind = registry.get(unit.batch.kind)
    images = kind.page_images(unit.payload, facts_of(kind.image_ids(unit.payload)))
    return kind.page_unit(unit.payload, images, attempt.assignment_id, attempt.arm)


def is_excluded(worker: Worker | None, unit: Unit) -> bool:
    """Tell whether the worker may not judge this unit."""
    return worker is not None and unit.excluded_workers.filter(pk=worker.pk).exists()
