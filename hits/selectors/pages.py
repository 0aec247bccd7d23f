"""What a HIT page reads. Nothing here writes: a GET proves no identity."""

import uuid
from typing import Any

from hits import registry
from hits.models import Attempt, ConsentText, Hit, Participation, Project, Unit, Worker
from hits.selectors.images.images import image_facts_by_id


def unit_by_public_id(public_id: uuid.UUID) -> Unit | None:
    """Return a unit with its batch and project, or ``None``."""
    return (
        Unit.objects.select_related("batch__project", "batch__instructions")
        .filter(public_id=public_id)
        .first()
    )


def find_worker(environment: str, worker_id: str) -> Worker | None:
    """Return a worker with earlier work here, or ``None``."""
    return Worker.objects.filter(environment=environment, worker_id=worker_id).first()


def current_consent(project: Project) -> ConsentText | None:
    """Return the newest consent text of a project."""
    return project.consent_texts.order_by("-version").first()


def has_consented(worker: Worker | None, project: Project) -> bool:
    """Return whether the worker agreed to the newest consent text; true if the project has none."""
    consent = current_consent(project)
    if consent is None:
        return True
    return worker is not None and Participation.objects.filter(worker=worker, consent=consent).exists()


def find_unit_hit(unit: Unit, hit_id: str) -> Hit | None:
    """Return the unit's HIT with that id and ``unit`` set, or ``None``."""
    hit = unit.hits.filter(hit_id=hit_id).first() if hit_id else None
    if hit is not None:
        hit.unit = unit
    return hit


def find_attempt(worker: Worker | None, hit: Hit, assignment_id: str) -> Attempt | None:
    """Return the worker's attempt at this assignment, or ``None``."""
    if worker is None:
        return None
    rows = Attempt.objects.select_related("hit__unit__batch")
    return rows.filter(worker=worker, hit=hit, assignment_id=assignment_id).first()


def unit_for_page_of_attempt(attempt: Attempt) -> dict[str, Any]:
    """Return the unit as the attempt's page shows it, in the order of its arm."""
    unit = attempt.hit.unit
    kind = registry.get_kind(unit.batch.kind)
    images = kind.page_images(unit.payload, image_facts_by_id(kind.image_ids(unit.payload)))
    return kind.unit_for_page(unit.payload, images, attempt.assignment_id, attempt.arm)
