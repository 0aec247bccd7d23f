"""The training queue: attempts on the left, an attempt with remark fields in the middle, feedback on the right."""

from collections.abc import Mapping
from dataclasses import dataclass
from typing import Any

from django.contrib import messages
from django.http import HttpRequest, HttpResponse
from django.shortcuts import redirect, render
from django.urls import reverse
from django.views.decorators.http import require_POST, require_safe

from hits.domain.answers.text import parse_digits
from hits.domain.images.geometry import box_labels
from hits.domain.states import Role, TrainingOutcome
from hits.models import Assignment, Project
from hits.mturk.boto import marketplace
from hits.observing.pairs import ObservationPair
from hits.selectors.review import AssignmentReview, load_review
from hits.selectors.roles import visitor_has_role
from hits.services.errors import Conflict, Refused
from hits.services.reviewing import review
from hits.views.access import project_page
from hits.views.balance import clear_cached_balance
from hits.views.pages import get_or_404, section_context
from hits.views.users import signed_in_user
from validation.domain.qualification.remarks import RemarkTarget, describe_target, parse_remarks, remark_rows
from validation.selectors import training, worker_status
from validation.services import training as services
from validation.services.worker_status import settle_worker_calls

_NO_INPUT: Mapping[str, str] = {}


@dataclass(frozen=True, slots=True)
class RemarkField:
    """A field for a remark: ``field`` is its form name, ``name`` its target, ``text`` what was typed."""

    field: str
    name: str
    text: str = ""
    label: str = ""


@dataclass(frozen=True, slots=True)
class PairRemarkFields:
    """One observation with its remark fields."""

    pair: ObservationPair
    clue: RemarkField
    inference: RemarkField
    confidence: RemarkField
    boxes: list[RemarkField]
    whole: RemarkField


@require_safe
@project_page()
def training_queue(request: HttpRequest, project: Project) -> HttpResponse:
    """Show the training attempts that wait for an answer."""
    return _render_queue(request, project, parse_digits(request.GET.get("at", "")))


@require_POST
@project_page()
def training_feedback_save(request: HttpRequest, project: Project, assignment_id: int) -> HttpResponse:
    """Save the feedback, pay, grant “trained” if ready, and show the next attempt."""
    row = get_or_404(training.find_attempt(project, assignment_id))
    queue = training.training_queue(project, row.pk)
    following = queue.next_id if queue.current_id == row.pk else queue.current_id
    try:
        outcome = TrainingOutcome(request.POST.get("outcome", ""))
        services.give_feedback(
            assignment=row,
            outcome=outcome,
            summary=request.POST.get("summary", ""),
            remarks=parse_remarks((name, str(value)) for name, value in request.POST.items()),
            by=signed_in_user(request),
        )
    except ValueError:
        messages.error(request, "Choose “Try again” or “Ready”.")
        return _render_queue(request, project, row.pk, typed=request.POST, status=400)
    except Conflict as error:
        messages.error(request, f"Not saved: {error}")
        return redirect("training-queue", project.slug)
    except Refused as error:
        messages.error(request, f"Not saved: {error}")
        return _render_queue(request, project, row.pk, typed=request.POST, status=400)
    _pay_and_grant(request, project, row, outcome)
    url = reverse("training-queue", args=[project.slug])
    return redirect(f"{url}?at={following}" if following else url)


def _render_queue(
    request: HttpRequest,
    project: Project,
    selected: int | None,
    *,
    typed: Mapping[str, str] = _NO_INPUT,
    status: int = 200,
) -> HttpResponse:
    queue = training.training_queue(project, selected)
    context: dict[str, Any] = section_context(project, "people", "training") | {
        "admin": visitor_has_role(request, project, Role.ADMIN),
        "queue": queue,
        "queue_url": reverse("training-queue", args=[project.slug]),
    }
    found = next((row for row in queue.reviews if row.assignment.pk == queue.current_id), None)
    if found is not None:
        context |= _attempt_context(found, project, typed)
    return render(request, "validation/qualification/training.html", context, status=status)


def _attempt_context(found: AssignmentReview, project: Project, typed: Mapping[str, str]) -> dict[str, Any]:
    worker = found.assignment.worker
    earlier = training.earlier_attempts(found.assignment, project)
    return {
        "review": found,
        "cards": [_pair_remark_fields(pair, typed) for pair in found.evidence["pairs"]],
        "whole": RemarkField(
            RemarkTarget().field, describe_target(RemarkTarget()), typed.get(RemarkTarget().field, "")
        ),
        "summary": typed.get("summary", ""),
        "earlier": [(row, _remark_rows(row)) for row in earlier],
        "number": len(earlier) + 1,
        "current": worker_status.current_status(worker, project),
        "phrases": training.recent_remarks(project),
        "failed_check_count": sum(not check.ok for check in found.checks),
    }


def _pair_remark_fields(pair: ObservationPair, typed: Mapping[str, str]) -> PairRemarkFields:
    def remark_field(target: RemarkTarget, label: str = "") -> RemarkField:
        return RemarkField(target.field, describe_target(target, label), typed.get(target.field, ""), label)

    labels = box_labels(len(pair.boxes), pair.index)
    return PairRemarkFields(
        pair=pair,
        clue=remark_field(RemarkTarget(pair.index, "clue")),
        inference=remark_field(RemarkTarget(pair.index, "inference")),
        confidence=remark_field(RemarkTarget(pair.index, "confidence")),
        boxes=[
            remark_field(RemarkTarget(pair.index, "boxes", n), label)
            for n, label in enumerate(labels, start=1)
        ],
        whole=remark_field(RemarkTarget(pair.index)),
    )


def _remark_rows(row: training.EarlierAttempt) -> list[tuple[str, str]]:
    """Return an earlier attempt's remarks as (target, text)."""
    boxes = {
        pair.index: box_labels(len(pair.boxes), pair.index) for pair in row.attempt.evidence.get("pairs", ())
    }
    return remark_rows(row.feedback.remarks if row.feedback else (), boxes)


def _pay_and_grant(request: HttpRequest, project: Project, row: Assignment, outcome: TrainingOutcome) -> None:
    """Make the calls for payment and grant; show failed ones, which are retried later."""
    failures = settle_worker_calls(project=project, worker=row.worker, marketplace=marketplace())
    decision = row.decisions.first()
    try:
        if decision is not None:
            review.settle_decision(decision=decision, marketplace=marketplace())
    except Refused as error:
        failures.append(str(error))
    clear_cached_balance()
    shown = load_review(row.pk)
    paid = " and paid" if shown is not None and shown.state == "paid" else ""
    verdict = "is ready" if outcome is TrainingOutcome.COMPLETE else "tries again"
    if failures:
        messages.warning(request, f"{row.worker} {verdict}. The marketplace was not updated: {failures[0]}")
    else:
        messages.success(request, f"{row.worker} {verdict}. The attempt is answered{paid}.")
