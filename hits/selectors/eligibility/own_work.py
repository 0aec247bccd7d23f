"""Nobody judges their own work, or a unit twice: the workers that a unit excludes."""

from django.utils.translation import gettext_noop

from hits.models import Unit, Worker

OWN_WORK_REASON = gettext_noop(
    "This task is about your own work, or you judged it before, so somebody else has to do it."
)


def is_excluded(worker: Worker | None, unit: Unit) -> bool:
    """Return whether the worker is excluded from this unit."""
    return worker is not None and unit.excluded_workers.filter(pk=worker.pk).exists()
