"""Reconcile: where our rows and the marketplace's do not agree, one by one, with what can be done about each."""

import uuid
from typing import Any

from django.contrib import messages
from django.http import Http404, HttpRequest, HttpResponse
from django.shortcuts import redirect, render
from django.views.decorators.http import require_http_methods, require_POST, require_safe

from hits.domain.money.costs import CostLine, CostTable
from hits.domain.money.usd import format_dollars
from hits.domain.states import AssignmentStatus, BatchState, Match, Remedy
from hits.forms import typed_cost
from hits.models import Assignment, Batch, Decision, Hit, Submission
from hits.mturk.boto import marketplace
from hits.mturk.environments import current
from hits.selectors import reconciliation
from hits.selectors.jobs import open_under
from hits.services.batches import compensation
from hits.services.batches import lifecycle as batch_services
from hits.services.errors import Conflict, Refused
from hits.services.reconciling import reconcile, remedies
from hits.services.reviewing import review
from hits.views.access import batch_page
from hits.views.balance import forget_balance
from hits.views.costs import cost_context, refusal_context
from hits.views.who import person

_DONE = {
    Remedy.APPROVE: "Approved as shown. The answer stays out of the data.",
    Remedy.REJECT: "Rejected. The worker reads your reason.",
    Remedy.KEEP: "Left as it is.",
}


@require_safe
@batch_page()
def batch_reconcile(request: HttpRequest, batch: Batch) -> HttpResponse:
    """Show what does not match in a batch, class by class."""
    latest = reconciliation.latest(batch)
    running = open_under(f"reconcile:{batch.pk}")
    context: dict[str, Any] = {
        "project": batch.project,
        "section": "batches",
        "batch": batch,
        "latest": latest,
        "apart": abs(latest.cents_ours - latest.cents_marketplace) if latest else 0,
        "totals": reconciliation.totals(batch),
        "classes": [
            ("Only on the marketplace", reconciliation.unmatched(batch, Match.MARKETPLACE_ONLY)),
            ("Does not match", reconciliation.unmatched(batch, Match.MISMATCH)),
        ],
        "lost": reconciliation.lost(batch),
        "findings": latest.findings if latest else [],
        "history": reconciliation.history(batch)[: reconciliation.AT_MOST],
        "at_most": reconciliation.AT_MOST,
        "running": list(running),
    }
    return render(request, "hits/batches/reconcile.html", context)


@require_POST
@batch_page()
def reconcile_compare(request: HttpRequest, batch: Batch) -> HttpResponse:
    """Compare now."""
    try:
        reconcile.request_reconciliation(batch=batch, by=person(request))
    except Refused as error:
        messages.warning(request, str(error))
    return redirect("batch-reconcile", batch.pk)


@require_http_methods(["GET", "HEAD", "POST"])
@batch_page()
def reconcile_assignment(request: HttpRequest, batch: Batch, assignment_id: int) -> HttpResponse:
    """Show one assignment that does not match, and decide on it."""
    rows = Assignment.objects.filter(hit__unit__batch=batch, pk=assignment_id)
    (row,) = reconciliation.described(rows.select_related("hit__unit__batch__project", "worker")) or (None,)
    if row is None:
        raise Http404("There is no such page.")
    refused: dict[str, Any] = {}
    if request.method == "POST":
        resolved = _resolve_assignment(request, batch, row.assignment)
        if isinstance(resolved, HttpResponse):
            return resolved
        refused = _refusal(request, resolved)
    context = _item(batch) | {
        "row": row,
        "open": reconciliation.open_assignments(batch).filter(pk=assignment_id).exists(),
        "undecided": row.assignment.status == AssignmentStatus.SUBMITTED,
    }
    return render(
        request, "hits/batches/reconcile_assignment.html", context | refused, status=400 if refused else 200
    )


@require_http_methods(["GET", "HEAD", "POST"])
@batch_page()
def reconcile_submission(request: HttpRequest, batch: Batch, submission_id: uuid.UUID) -> HttpResponse:
    """Show one answer that never got through, and keep or compensate it."""
    rows = Submission.objects.filter(attempt__hit__unit__batch=batch, pk=submission_id)
    submission = rows.select_related("attempt__hit__unit__batch__project", "attempt__worker").first()
    if submission is None:
        raise Http404("There is no such page.")
    refused: dict[str, Any] = {}
    if request.method == "POST":
        resolved = _resolve_submission(request, batch, submission)
        if isinstance(resolved, HttpResponse):
            return resolved
        refused = _refusal(request, resolved)
    context = _item(batch) | _compensation_cost(batch, submission)
    context |= {
        "submission": submission,
        "said": reconciliation.said_in(submission),
        "again": reconciliation.handed_in_again(submission),
        "open": reconciliation.is_lost(submission),
    }
    return render(
        request, "hits/batches/reconcile_submission.html", context | refused, status=400 if refused else 200
    )


def _compensation_cost(batch: Batch, submission: Submission) -> dict[str, Any]:
    owed = reconciliation.owed_cents(submission)
    fee = current().fees.fee_cents(owed, 1)  # a launch of today, with today's fees
    cost = CostTable((CostLine("Reward", owed, 1, owed), CostLine("Fee on it", fee)))
    return cost_context(project=batch.project, cost=cost, held_cents=owed + fee, most_cents=owed + fee) | {
        "owed_cents": owed,
        "most_cents": owed + fee,
    }


def _refusal(request: HttpRequest, error: Refused) -> dict[str, Any]:
    """Return what a page shows after a refusal, with the reason and the sum that were typed."""
    return refusal_context(request.POST, error) | {"note": request.POST.get("note", "")}


@require_POST
@batch_page()
def reconcile_hit(request: HttpRequest, batch: Batch) -> HttpResponse:
    """Mend one HIT on which the two sides disagree."""
    act, hit_id = request.POST.get("act", ""), request.POST.get("hit_id", "")
    try:
        messages.success(request, _mend(request, batch, act, hit_id))
    except Refused as error:
        messages.warning(request, str(error))
    return redirect("batch-reconcile", batch.pk)


def _mend(request: HttpRequest, batch: Batch, act: str, hit_id: str) -> str:
    by = person(request)
    if act == "adopt" and batch.state == BatchState.CLOSING:
        batch_services.request_sync(batch=batch, by=by)
        return "The task is being taken up, and will be offered no more."
    if act == "adopt":
        batch_services.resume_publish(batch=batch, by=by)
        return "Publishing goes on, and takes the task up."
    if act == "expire":
        remedies.expire_surplus(batch=batch, hit_id=hit_id, marketplace=marketplace(), by=by)
        return f"HIT {hit_id} is offered no more."
    hit = Hit.objects.filter(unit__batch=batch, hit_id=hit_id).select_related("unit__batch__project").first()
    if hit is None:
        raise Conflict("This task was mended already. Compare again.")
    if act == "anew":
        remedies.begin_anew(hit=hit, by=by)
        return "The task is published again."
    if act == "give-up":
        remedies.give_up(hit=hit, by=by)
        return "The task is given up, and what was held for it is free in our ledger."
    raise Refused("Choose what to do about the task.")


def _item(batch: Batch) -> dict[str, Any]:
    return {"project": batch.project, "section": "batches", "batch": batch}


def _remedy(request: HttpRequest) -> Remedy:
    try:
        return Remedy(request.POST.get("remedy", ""))
    except ValueError:
        raise Refused("Choose what to do about it.") from None


def _resolve_assignment(request: HttpRequest, batch: Batch, assignment: Assignment) -> HttpResponse | Refused:
    """Write the remedy down and go back to the list, or return why not."""
    try:
        remedy = _remedy(request)
        _, decision = remedies.resolve_assignment(
            assignment=assignment, remedy=remedy, note=request.POST.get("note", ""), by=person(request)
        )
    except Refused as error:
        return error
    if decision is not None:
        _settle(request, decision)
    messages.success(request, _DONE[remedy])
    return redirect("batch-reconcile", batch.pk)


def _settle(request: HttpRequest, decision: Decision) -> None:
    """Carry the decision out now; what fails stays written down and is repeated."""
    try:
        review.settle(decision=decision, marketplace=marketplace())
    except Refused as error:
        messages.warning(request, f"Carrying it out is outstanding: {error}")
    forget_balance()


def _resolve_submission(request: HttpRequest, batch: Batch, submission: Submission) -> HttpResponse | Refused:
    """Keep or compensate and go back to the list, or return why not."""
    note, by = request.POST.get("note", ""), person(request)
    try:
        remedy = _remedy(request)
        if remedy is Remedy.COMPENSATE:
            cost = typed_cost(request.POST)
            compensation.compensate(submission=submission, note=note, by=by, confirmed_cents=cost)
        elif remedy is Remedy.KEEP:
            remedies.keep_submission(submission=submission, note=note, by=by)
        else:
            raise Refused("The marketplace shows nothing here that could be decided on.")
    except Refused as error:
        return error
    if remedy is Remedy.COMPENSATE:
        owed, worker = format_dollars(reconciliation.owed_cents(submission)), submission.attempt.worker
        said = f"{worker} gets a task that pays {owed} within a minute or two, and is told."
        messages.success(request, said)
    else:
        messages.success(request, _DONE[remedy])
    return redirect("batch-reconcile", batch.pk)
