"""The review queue: queue on the left, evidence in the middle, decision on the right."""

from typing import Any

from django.contrib import messages
from django.http import HttpRequest, HttpResponse
from django.shortcuts import redirect, render
from django.urls import reverse
from django.views.decorators.http import require_POST, require_safe

from hits import registry
from hits.domain.answers.text import parse_digits
from hits.domain.money.usd import format_dollars
from hits.domain.states import AssignmentStatus, ReviewVerdict, Role
from hits.models import Assignment, Batch, Decision, Project
from hits.mturk.boto import marketplace
from hits.selectors import people, review
from hits.services.batches import lifecycle
from hits.services.errors import Refused
from hits.services.reviewing import review as services
from hits.views.access import batch_page, check_access, project_page
from hits.views.balance import clear_cached_balance
from hits.views.batches.batches import own_queue_link
from hits.views.pages import action_messages, get_or_404, section_context
from hits.views.users import signed_in_user


@require_safe
@project_page()
def project_review(request: HttpRequest, project: Project) -> HttpResponse:
    """Review the waiting submissions of a project."""
    return _render_queue(request, project, project)


@require_safe
@batch_page()
def batch_review(request: HttpRequest, batch: Batch) -> HttpResponse:
    """Review the waiting submissions of a batch."""
    return _render_queue(request, batch.project, batch)


@require_safe
def assignment_detail(request: HttpRequest, assignment_id: int) -> HttpResponse:
    """Show one assignment, decided or not."""
    item = get_or_404(review.load_review(assignment_id))
    project = item.batch.project
    check_access(request, project, Role.RESEARCHER)
    context = {"project": project, "section": "review", "batch": item.batch} | _review_context(item)
    return render(request, "hits/review/assignment.html", context)


def _render_queue(request: HttpRequest, project: Project, scope: Project | Batch) -> HttpResponse:
    queue = review.queue_window(scope, parse_digits(request.GET.get("at", "")))
    batch = scope if isinstance(scope, Batch) else None
    context: dict[str, Any] = section_context(project, "review") | {
        "batch": batch,
        "scope": "batch" if batch else "project",
        "queue": queue,
        "queue_page": own_queue_link(batch) if batch else None,
        "queue_url": reverse("batch-review", args=[batch.pk])
        if batch
        else reverse("project-review", args=[project.slug]),
    }
    item = next((row for row in queue.reviews if row.assignment.pk == queue.current_id), None)
    if item is not None:
        context |= _review_context(item)
    return render(request, "hits/review/review.html", context)


def _review_context(item: review.AssignmentReview) -> dict[str, Any]:
    batch = item.batch
    kind = registry.get_kind(batch.kind)
    return {
        "review": item,
        "kind": kind,
        "unit": item.unit,
        "answer": item.answer,
        "images": item.images,
        "marks": item.marks,
        "unit_rows": item.unit_rows,
        "answer_rows": item.answer_rows,
        "evidence": item.evidence,
        "failed_check_count": sum(not check.ok for check in item.checks),
        "payout": batch.approval_cost(item.assignment.hit.max_assignments, item.bonus_items),
        "fees": batch.fees,
        "worker_summary": people.worker_summary(item.assignment.worker, batch.project),
        "open_here": item.assignment.status == AssignmentStatus.SUBMITTED and item.current_decision is None,
        "may_override": item.assignment.status == AssignmentStatus.REJECTED,
        "no_override": services.override_refusal_reason(item.assignment),
    }


@require_POST
def assignment_decide(request: HttpRequest, assignment_id: int) -> HttpResponse:
    """Store a verdict, make its calls, and redirect to the next submission."""
    row = _get_assignment(request, assignment_id)
    batch = row.hit.unit.batch
    try:
        verdict = ReviewVerdict(request.POST.get("verdict", ""))
    except ValueError:
        messages.error(request, "Choose to approve or to reject.")
        return redirect("assignment-detail", row.pk)
    next_url = _url_after_decision(request, row, batch)
    with action_messages(request, "Not decided"):
        decision = services.decide_assignment(
            assignment=row,
            verdict=verdict,
            by=signed_in_user(request),
            feedback=request.POST.get("feedback", ""),
        )
        _settle_decision(request, decision)
        return redirect(next_url)
    return redirect("assignment-detail", row.pk)


@require_POST
def assignment_override(request: HttpRequest, assignment_id: int) -> HttpResponse:
    """Approve and pay a rejected submission."""
    row = _get_assignment(request, assignment_id)
    with action_messages(request, "Not overridden"):
        decision = services.override_rejection(
            assignment=row, by=signed_in_user(request), feedback=request.POST.get("feedback", "")
        )
        _settle_decision(request, decision)
    return redirect("assignment-detail", row.pk)


@require_POST
def retry_payment(request: HttpRequest, assignment_id: int) -> HttpResponse:
    """Retry a payment that the marketplace refused, after its cause was fixed."""
    row = _get_assignment(request, assignment_id)
    decision = row.decisions.order_by("-pk").first()
    with action_messages(request, level=messages.WARNING):
        if decision is None:
            raise Refused("This submission is not decided, so there is no payment to retry.")
        lifecycle.retry_refused_calls(decision=decision, by=signed_in_user(request))
        _settle_decision(request, decision)
    return redirect("batch-detail", row.hit.unit.batch_id)


def _get_assignment(request: HttpRequest, assignment_id: int) -> Assignment:
    row = get_or_404(review.assignment_by_id(assignment_id))
    check_access(request, row.hit.unit.batch.project, Role.RESEARCHER)
    return row


def _url_after_decision(request: HttpRequest, row: Assignment, batch: Batch) -> str:
    """Return the URL after the decision: the next submission of the reviewer's queue."""
    scope: Project | Batch = batch.project if request.POST.get("scope") == "project" else batch
    name, key = ("batch-review", batch.pk) if scope is batch else ("project-review", batch.project.slug)
    if request.POST.get("scope") not in {"project", "batch"}:
        return reverse("assignment-detail", args=[row.pk])
    following = review.queue_window(scope, row.pk).next_id
    url = reverse(name, args=[key])
    return f"{url}?at={following}" if following else url


def _settle_decision(request: HttpRequest, decision: Decision) -> None:
    """Make a decision's calls now; a failed call is reported, stored and retried."""
    name = f"Submission {decision.assignment_id}"
    done = "approved" if decision.verdict == ReviewVerdict.APPROVE else "rejected"
    try:
        services.settle_decision(decision=decision, marketplace=marketplace())
    except Refused as error:
        messages.warning(request, f"{name} is {done}, but the decision is not carried out yet: {error}")
        return
    clear_cached_balance()
    paid = sum(call.amount_cents + call.fee_cents for call in decision.calls.all())
    if decision.verdict == ReviewVerdict.APPROVE:
        messages.success(request, f"{name} approved, {format_dollars(paid)} paid.")
    else:
        messages.success(request, f"{name} rejected. The worker reads your reason.")
