"""Where workers stand in a project: the latest decided change, and what their submissions say by themselves."""

from collections import defaultdict
from collections.abc import Iterable, Mapping
from dataclasses import dataclass
from datetime import datetime

from django.db.models import Min

from hits import registry
from hits.domain.states import Match, Purpose
from hits.models import Assignment, Project, Worker
from validation.domain.qualification.worker_status import SHUT, Standing
from validation.models import StandingChange

APPLIED_REASON = "Handed in the qualification task."
ACTIVE_REASON = "Handed in a first task of the dataset."
_OPEN_TO_WORK = frozenset({Standing.QUALIFIED, Standing.TRAINED, Standing.ACTIVE})


@dataclass(frozen=True, slots=True)
class Place:
    """Where a worker stands: since when, why, and who said so (``by`` is empty where nobody had to)."""

    standing: Standing = Standing.NONE
    reason: str = ""
    since: datetime | None = None
    by: str = ""

    @property
    def is_shut(self) -> bool:
        """Tell whether the worker gets no new tasks."""
        return self.standing in SHUT


def standing_of(worker: Worker, project: Project) -> Place:
    """Return where one worker stands in the project; two queries."""
    return standings(project, only=[worker.pk]).get(worker.pk, Place())


def standings(project: Project, *, only: Iterable[int] | None = None) -> dict[int, Place]:
    """Return where the workers of a project stand, by row key; two queries however many.

    Who is absent stands nowhere: ``Standing.NONE``. ``only`` narrows it to some workers.
    """
    changes = StandingChange.objects.filter(project=project).select_related("decided_by")
    came_in = Assignment.objects.filter(hit__unit__batch__project=project, match=Match.MATCHED)
    if only is not None:
        keys = list(only)
        changes, came_in = changes.filter(worker__in=keys), came_in.filter(worker__in=keys)
    # In the order of writing, so that the newest of a worker stays.
    latest = {change.worker_id: change for change in changes.order_by("pk")}
    began = _began(
        came_in.order_by().values_list("worker", "hit__unit__batch__kind").annotate(Min("submitted_at"))
    )
    return {pk: _place(latest.get(pk), began.get(pk, {})) for pk in latest.keys() | began.keys()}


def _began(rows: Iterable[tuple[int, str, datetime]]) -> dict[int, dict[Purpose, datetime]]:
    """Return when each worker handed in a first task, by what it was for."""
    began: dict[int, dict[Purpose, datetime]] = defaultdict(dict)
    for worker, kind, first in rows:
        purpose = registry.get(kind).purpose
        began[worker][purpose] = min(first, began[worker].get(purpose, first))
    return began


def resumes_as(worker: Worker, project: Project) -> Standing:
    """Return where a worker who gets no tasks would stand if they got them again."""
    open_to = [Standing.QUALIFIED, Standing.TRAINED, Standing.ACTIVE, Standing.DECLINED]
    rows = StandingChange.objects.filter(project=project, worker=worker, standing__in=open_to).order_by("-pk")
    latest = rows.values_list("standing", flat=True).first()
    return Standing(latest) if latest else Standing.ACTIVE


def ways_back(worker: Worker, project: Project, place: Place) -> list[Standing]:
    """Return as what a worker who gets no tasks may be reinstated, the usual one first; nothing for the others."""
    if not place.is_shut:
        return []
    usual = resumes_as(worker, project)
    trains_again = place.standing is Standing.DEQUALIFIED and usual in {Standing.TRAINED, Standing.ACTIVE}
    return [usual, Standing.QUALIFIED] if trains_again else [usual]


def _place(change: StandingChange | None, began: Mapping[Purpose, datetime]) -> Place:
    working = min((began[p] for p in (Purpose.COLLECTING, Purpose.JUDGING) if p in began), default=None)
    applied = began.get(Purpose.QUALIFYING)
    if change is None:
        if working is not None:
            return Place(Standing.ACTIVE, ACTIVE_REASON, working)
        return Place(Standing.APPLIED, APPLIED_REASON, applied) if applied else Place()
    decided = Standing(change.standing)
    if decided is Standing.ACTIVE and working is None:  # reinstated before having worked
        return _decided(change, Standing.APPLIED if applied else Standing.NONE)
    if working is None or decided not in _OPEN_TO_WORK:
        return _decided(change, decided)
    if working > change.decided_at:
        return Place(Standing.ACTIVE, ACTIVE_REASON, working)
    return _decided(change, Standing.ACTIVE)


def _decided(change: StandingChange, standing: Standing) -> Place:
    by = change.decided_by.get_username() if change.decided_by is not None else ""
    return Place(standing, change.reason, change.decided_at, by)
