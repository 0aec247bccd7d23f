"""The trainer desk: queue left, the attempt in the middle with a place for remarks at each part, the answer right."""

from collections.abc import Mapping
from dataclasses import dataclass
from typing import Any

from django.contrib import messages
from django.http import Http404, HttpRequest, HttpResponse
from django.shortcuts import redirect, render
from django.urls import reverse
from django.views.decorators.http import require_POST, require_safe

from hits.domain.answers.text import row_number
from hits.domain.images.geometry import labels
from hits.domain.states import Role, TrainingOutcome
from hits.models import Assignment, Project
from hits.mturk.boto import marketplace
from hits.observing.pairs import ObservationPair
from hits.selectors.review import Looked, look
from hits.selectors.roles import visitor_may
from hits.services.errors import Conflict, Refused
from hits.services.reviewing import review
from hits.views.access import project_page
from hits.views.balance import forget_balance
from hits.views.who import person
from validation.domain.qualification.remarks import Place, lines_of, remarks_from, words
from validation.selectors import training, worker_status
from validation.services import training as services
from validation.services.worker_status import carry_out

_NOTHING: Mapping[str, str] = {}


@dataclass(frozen=True, slots=True)
class Spot:
    """One place for a remark: the form's field, what it is called, what was typed there before an error."""

    field: str
    name: str
    text: str = ""
    label: str = ""


@dataclass(frozen=True, slots=True)
class CardSpots:
    """One observation with its places."""

    pair: ObservationPair
    clue: Spot
    inference: Spot
    confidence: Spot
    boxes: list[Spot]
    whole: Spot


@require_safe
@project_page()
def training_desk(request: HttpRequest, project: Project) -> HttpResponse:
    """Answer whatever waits for a trainer."""
    return _desk(request, project, row_number(request.GET.get("at", "")))


@require_POST
@project_page()
def training_answer(request: HttpRequest, project: Project, assignment_id: int) -> HttpResponse:
    """Write the answer, pay, perhaps trust, and go on to the next."""
    row = training.by_id(project, assignment_id)
    if row is None:
        raise Http404("There is no such page.")
    queue = training.queue_at(project, row.pk)
    following = queue.next_id if queue.current_id == row.pk else queue.current_id
    try:
        outcome = TrainingOutcome(request.POST.get("outcome", ""))
        services.answer(
            assignment=row,
            outcome=outcome,
            summary=request.POST.get("summary", ""),
            remarks=remarks_from((name, str(value)) for name, value in request.POST.items()),
            by=person(request),
        )
    except ValueError:
        messages.error(request, "Choose “Try once more” or “Ready”.")
        return _desk(request, project, row.pk, kept=request.POST, status=400)
    except Conflict as error:
        messages.error(request, f"Not stored: {error}")
        return redirect("training-desk", project.slug)
    except Refused as error:
        messages.error(request, f"Not stored: {error}")
        return _desk(request, project, row.pk, kept=request.POST, status=400)
    _settle(request, project, row, outcome)
    url = reverse("training-desk", args=[project.slug])
    return redirect(f"{url}?at={following}" if following else url)


def _desk(
    request: HttpRequest,
    project: Project,
    wanted: int | None,
    *,
    kept: Mapping[str, str] = _NOTHING,
    status: int = 200,
) -> HttpResponse:
    queue = training.queue_at(project, wanted)
    context: dict[str, Any] = {
        "project": project,
        "section": "people",
        "tab": "training",
        "admin": visitor_may(request, project, Role.ADMIN),
        "queue": queue,
        "desk_url": reverse("training-desk", args=[project.slug]),
    }
    found = next((row for row in queue.shown if row.assignment.pk == queue.current_id), None)
    if found is not None:
        context |= _attempt(found, project, kept)
    return render(request, "validation/qualification/training.html", context, status=status)


def _attempt(found: Looked, project: Project, kept: Mapping[str, str]) -> dict[str, Any]:
    worker = found.assignment.worker
    earlier = training.earlier_attempts(found.assignment, project)
    return {
        "look": found,
        "cards": [_card(pair, kept) for pair in found.evidence["pairs"]],
        "whole": Spot(Place().field, words(Place()), kept.get(Place().field, "")),
        "summary": kept.get("summary", ""),
        "earlier": [(row, _told(row)) for row in earlier],
        "number": len(earlier) + 1,
        "place": worker_status.standing_of(worker, project),
        "phrases": training.phrases(project),
        "to_look_at": sum(not check.ok for check in found.checks),
    }


def _card(pair: ObservationPair, kept: Mapping[str, str]) -> CardSpots:
    def spot(place: Place, label: str = "") -> Spot:
        return Spot(place.field, words(place, label), kept.get(place.field, ""), label)

    tabs = labels(len(pair.boxes), pair.index)
    return CardSpots(
        pair=pair,
        clue=spot(Place(pair.index, "clue")),
        inference=spot(Place(pair.index, "inference")),
        confidence=spot(Place(pair.index, "confidence")),
        boxes=[spot(Place(pair.index, "boxes", n), tab) for n, tab in enumerate(tabs, start=1)],
        whole=spot(Place(pair.index)),
    )


def _told(row: training.Earlier) -> list[tuple[str, str]]:
    """Return an earlier attempt's remarks as (where, what)."""
    boxes = {pair.index: labels(len(pair.boxes), pair.index) for pair in row.look.evidence.get("pairs", ())}
    return lines_of(row.feedback.remarks if row.feedback else (), boxes)


def _settle(request: HttpRequest, project: Project, row: Assignment, outcome: TrainingOutcome) -> None:
    """Pay and grant now; what fails is said, stays written down, and is repeated."""
    trouble = carry_out(project=project, worker=row.worker, marketplace=marketplace())
    decision = row.decisions.first()
    try:
        if decision is not None:
            review.settle(decision=decision, marketplace=marketplace())
    except Refused as error:
        trouble.append(str(error))
    forget_balance()
    shown = look(row.pk)
    paid = " and paid" if shown is not None and shown.state == "paid" else ""
    word = "is ready" if outcome is TrainingOutcome.COMPLETE else "tries once more"
    if trouble:
        messages.warning(request, f"{row.worker} {word}; carrying it out is outstanding: {trouble[0]}")
    else:
        messages.success(request, f"{row.worker} {word}. The attempt is answered{paid}.")
