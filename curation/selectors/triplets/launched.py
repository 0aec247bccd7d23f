"""Which units of earlier rounds are used up."""

from django.db.models import Exists, OuterRef, Q, QuerySet

from hits.domain.states import BatchState
from hits.models import Project, Submission, Unit


def launched_units(project: Project, kind: str) -> "QuerySet[Unit]":
    """Return the units of a kind that somebody answered, or can still answer; quality checks are left out.

    A round that was closed before anybody answered a unit does not use the unit up.
    """
    answers = Submission.objects.filter(attempt__hit__unit=OuterRef("pk"))
    units = Unit.objects.filter(batch__project=project, batch__kind=kind, quality_check=None)
    return units.filter(~Q(batch__state=BatchState.CLOSED) | Exists(answers))
