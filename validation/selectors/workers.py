"""The workers of a project: a list that works for thousands, and whether somebody is one of them."""

from collections import Counter
from collections.abc import Sequence
from dataclasses import dataclass

from django.core.paginator import Page, Paginator

from hits.models import Assignment, Participation, Project, Worker
from hits.selectors import people
from hits.selectors.money.pay import Record
from validation.domain.qualification.worker_status import Standing
from validation.models import StandingChange
from validation.selectors.worker_rules import open_proposals
from validation.selectors.worker_status import Place, standings

PER_PAGE = 50


@dataclass(frozen=True, slots=True)
class Line:
    """One worker as the list shows them."""

    record: Record
    place: Place
    agreed: Participation | None
    proposed: bool


@dataclass(frozen=True, slots=True)
class Listing:
    """One page of the workers, and how many stand where in the whole project."""

    page: "Page[int]"
    lines: Sequence[Line]
    counts: Sequence[tuple[Standing, int]]
    total: int


def listing(project: Project, *, standing: Standing | None, number: int | None, page: str) -> Listing:
    """Return a page of the project's workers, by number; twelve queries however many.

    ``standing`` shows those who stand there alone, ``number`` the one called ``W-<number>``.
    """
    places = standings(project)
    everybody = sorted(people.agreed(project) | places.keys())
    counted = Counter(places.get(pk, Place()).standing for pk in everybody)
    shown = [
        pk
        for pk in everybody
        if (standing is None or places.get(pk, Place()).standing is standing)
        and (number is None or pk == number)
    ]
    found = Paginator(shown, PER_PAGE).get_page(page)
    proposed = set(open_proposals(project).filter(worker__in=list(found)).values_list("worker_id", flat=True))
    lines = [
        Line(record, places.get(record.worker.pk, Place()), agreed, record.worker.pk in proposed)
        for record, agreed in people.records(project, list(found))
    ]
    return Listing(found, lines, [(s, counted[s]) for s in Standing if counted[s]], len(everybody))


def worker_in(project: Project, pk: int) -> Worker | None:
    """Return a worker who agreed to take part, submitted or was decided about in the project, or ``None``."""
    worker = Worker.objects.filter(pk=pk).first()
    if worker is None:
        return None
    known = (
        Participation.objects.filter(project=project, worker=worker).exists()
        or StandingChange.objects.filter(project=project, worker=worker).exists()
        or Assignment.objects.filter(hit__unit__batch__project=project, worker=worker).exists()
    )
    return worker if known else None
