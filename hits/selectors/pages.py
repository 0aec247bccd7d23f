"""What a HIT page needs to know. Nothing here writes: a GET proves nothing about who asks."""

import uuid

from hits.models import Attempt, ConsentText, Participation, Project, Unit, Worker


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


def has_begun(worker: Worker, unit: Unit) -> bool:
    """Tell whether the worker opened this unit before."""
    return Attempt.objects.filter(worker=worker, hit__unit=unit).exists()


def is_excluded(worker: Worker | None, unit: Unit) -> bool:
    """Tell whether the worker may not judge this unit."""
    return worker is not None and unit.excluded_workers.filter(pk=worker.pk).exists()
