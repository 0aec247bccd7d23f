"""Reconciliation: differences between our rows and the marketplace's, and decisions on each."""

import uuid
from typing import Any

from django.contrib import messages
from django.http import HttpRequest, HttpResponse
from django.shortcuts import redirect, render
from django.views.decorators.http import require_http_methods, require_POST, require_safe

from hits.domain.money.cost_table import CostRow
from hits.domain.money.usd import format_dollars
from hits.domain.states import AssignmentStatus, BatchState, MismatchRemedy, SubmissionMatch
from hits.forms import typed_cost_cents
from hits.models import Assignment, Batch, Decision, Hit, Submission
from hits.mturk.boto import marketplace
from hits.mturk.environments import current_environment
from hits.selectors import reconciliation
from hits.selectors.jobs import find_open_jobs
from hits.services.batches import compensation
from hits.services.batches import lifecycle as batch_services
from hits.services.errors import Conflict, Refused
from hits.services.reconciling import reconcile, remedies
from hits.services.reviewing import review
from hits.views.access import batch_page
from hits.views.balance import clear_cached_balance
from hits.views.costs import cost_context, refusal_context
from hits.views.pages import action_messages, batch_context, get_or_404
from hits.views.users import signed_in_user

_REMEDY_MESSAGES = {
    MismatchRemedy.APPROVE: "Approved as shown. The answer stays out of the data.",
    MismatchRemedy.REJECT: "Rejected. The worker reads your reason.",
    MismatchRemedy.KEEP: "Left unchanged.",
}


@require_safe
@batch_page()
def batch_reconcile(request: HttpRequest, batch: Batch) -> HttpResponse:
    """Show a batch's differences by class."""
    latest = reconciliation.latest_reconciliation(batch)
    running = find_open_jobs(f"reconcile:{batch.pk}")
    context = batch_context(batch) | {
        "latest": latest,
        "difference_cents": abs(latest.cents_ours - latest.cents_marketplace) if latest else 0,
        "totals": reconciliation.reconciliation_totals(batch),
        "classes": [
            (
                "Only on the marketplace",
                reconciliation.unmatched_rows(batch, SubmissionMatch.MARKETPLACE_ONLY),
            ),
            ("Different answer", reconciliation.unmatched_rows(batch, SubmissionMatch.MISMATCH)),
        ],
        "lost": reconciliation.lost_rows(batch),
        "findings": latest.findings if latest else [],
        "history": reconciliation.batch_resolutions(batch)[: reconciliation.MAX_ROWS],
        "max_rows": reconciliation.MAX_ROWS,
        "running": list(running),
    }
    return render(request, "hits/batches/reconcile.html", context)


@require_POST
@batch_page()
def reconcile_compare(request: HttpRequest, batch: Batch) -> HttpResponse:
    """Compare now."""
    with action_messages(request, level=messages.WARNING):
        reconcile.request_reconciliation(batch=batch, by=signed_in_user(request))
    return redirect("batch-reconcile", batch.pk)


@require_http_methods(["GET", "HEAD", "POST"])
@batch_page()
def reconcile_assignment(request: HttpRequest, batch: Batch, assignment_id: int) -> HttpResponse:
    """Show one assignment that does not match, and store a decision."""
    rows = Assignment.objects.filter(hit__unit__batch=batch, pk=assignment_id)
    compared = reconciliation.compare_assignments(rows.select_related("hit__unit__batch__project", "worker"))
    row = get_or_404(next(iter(compared), None))
    refused: dict[str, Any] = {}
    if request.method == "POST":
        try:
            return _resolve_assignment(request, batch, row.assignment)
        except Refused as error:
            refused = _refusal_context_with_note(request, error)
    context = batch_context(batch) | {
        "row": row,
        "open": reconciliation.undecided_unmatched_assignments(batch).filter(pk=assignment_id).exists(),
        "undecided": row.assignment.status == AssignmentStatus.SUBMITTED,
    }
    return render(
        request, "hits/batches/reconcile_assignment.html", context | refused, status=400 if refused else 200
    )


@require_http_methods(["GET", "HEAD", "POST"])
@batch_page()
def reconcile_submission(request: HttpRequest, batch: Batch, submission_id: uuid.UUID) -> HttpResponse:
    """Show one lost answer, and keep or compensate it."""
    rows = Submission.objects.filter(attempt__hit__unit__batch=batch, pk=submission_id)
    submission = get_or_404(
        rows.select_related("attempt__hit__unit__batch__project", "attempt__worker").first()
    )
    refused: dict[str, Any] = {}
    if request.method == "POST":
        try:
            return _resolve_submission(request, batch, submission)
        except Refused as error:
            refused = _refusal_context_with_note(request, error)
    context = batch_context(batch) | _compensation_cost_context(batch, submission)
    context |= {
        "submission": submission,
        "answer_rows": reconciliation.submission_answer_rows(submission),
        "resubmitted": reconciliation.was_resubmitted(submission),
        "open": reconciliation.is_lost_and_undecided(submission),
    }
    return render(
        request, "hits/batches/reconcile_submission.html", context | refused, status=400 if refused else 200
    )


def _compensation_cost_context(batch: Batch, submission: Submission) -> dict[str, Any]:
    owed = reconciliation.owed_cents(submission)
    fee = current_environment().fees.fee_cents(owed, 1)  # a launch of today, with today's fees
    cost = (CostRow("Reward", owed, 1, owed), CostRow("Fee on the reward", fee))
    return cost_context(project=batch.project, cost=cost, held_cents=owed + fee, max_cents=owed + fee) | {
        "owed_cents": owed,
        "max_cents": owed + fee,
    }


def _refusal_context_with_note(request: HttpRequest, error: Refused) -> dict[str, Any]:
    """Return the context of a page after a refusal, with the typed reason and amount."""
    return refusal_context(request.POST, error) | {"note": request.POST.get("note", "")}


@require_POST
@batch_page()
def reconcile_hit(request: HttpRequest, batch: Batch) -> HttpResponse:
    """Apply the chosen repair to one HIT that differs from the marketplace."""
    action, hit_id = request.POST.get("act", ""), request.POST.get("hit_id", "")
    with action_messages(request, level=messages.WARNING):
        messages.success(request, _repair_hit(request, batch, action, hit_id))
    return redirect("batch-reconcile", batch.pk)


def _repair_hit(request: HttpRequest, batch: Batch, action: str, hit_id: str) -> str:
    by = signed_in_user(request)
    if action == "adopt" and batch.state == BatchState.CLOSING:
        batch_services.request_sync(batch=batch, by=by)
        return "The HIT is added to the batch and will not be offered again."
    if action == "adopt":
        batch_services.request_publication(batch=batch, by=by)
        return "Publishing continues and adds the HIT to the batch."
    if action == "expire":
        remedies.expire_surplus_hit(batch=batch, hit_id=hit_id, marketplace=marketplace(), by=by)
        return f"HIT {hit_id} is no longer offered."
    hit = Hit.objects.filter(unit__batch=batch, hit_id=hit_id).select_related("unit__batch__project").first()
    if hit is None:
        raise Conflict("This task was repaired already. Compare again.")
    if action == "anew":
        remedies.republish_hit(hit=hit, by=by)
        return "The task is published again."
    if action == "give-up":
        remedies.write_off_hit(hit=hit, by=by)
        return "The task is given up, and its hold in our ledger is released."
    raise Refused("Choose an action for the task.")


def _read_remedy(request: HttpRequest) -> MismatchRemedy:
    try:
        return MismatchRemedy(request.POST.get("remedy", ""))
    except ValueError:
        raise Refused("Choose an action.") from None


def _resolve_assignment(request: HttpRequest, batch: Batch, assignment: Assignment) -> HttpResponse:
    """Store the remedy and redirect to the list."""
    remedy = _read_remedy(request)
    note, by = request.POST.get("note", ""), signed_in_user(request)
    _, decision = remedies.resolve_assignment(assignment=assignment, remedy=remedy, note=note, by=by)
    if decision is not None:
        _settle_decision(request, decision)
    messages.success(request, _REMEDY_MESSAGES[remedy])
    return redirect("batch-reconcile", batch.pk)


def _settle_decision(request: HttpRequest, decision: Decision) -> None:
    """Carry the decision out now; a failed call is stored and retried."""
    with action_messages(request, "The decision is stored but not carried out yet", level=messages.WARNING):
        review.settle_decision(decision=decision, marketplace=marketplace())
    clear_cached_balance()


def _resolve_submission(request: HttpRequest, batch: Batch, submission: Submission) -> HttpResponse:
    """Keep or compensate and redirect to the list."""
    note, by = request.POST.get("note", ""), signed_in_user(request)
    remedy = _read_remedy(request)
    if remedy is MismatchRemedy.COMPENSATE:
        cost = typed_cost_cents(request.POST)
        compensation.compensate_submission(submission=submission, note=note, by=by, confirmed_cents=cost)
        owed, worker = format_dollars(reconciliation.owed_cents(submission)), submission.attempt.worker
        message = f"Within a minute or two, {worker} gets a task that pays {owed}, and a message about it."
        messages.success(request, message)
    elif remedy is MismatchRemedy.KEEP:
        remedies.close_without_payment(submission=submission, note=note, by=by)
        messages.success(request, _REMEDY_MESSAGES[remedy])
    else:
        raise Refused(
            "The marketplace does not list this submission: "
            "compensate the worker, or keep the answer without paying."
        )
    return redirect("batch-reconcile", batch.pk)
