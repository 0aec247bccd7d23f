"""Batches: the list, and one batch with what is well, how far it is, and what it costs."""

from collections.abc import Callable
from typing import Any

from django.contrib import messages
from django.http import HttpRequest, HttpResponse
from django.shortcuts import redirect, render
from django.urls import NoReverseMatch, reverse
from django.views.decorators.http import require_POST, require_safe

from hits import registry
from hits.domain.answers.text import row_number
from hits.domain.money.pay import payout
from hits.domain.states import OPEN_JOB_STATES, BatchState, JobState, Purpose
from hits.models import Batch, Job, Project
from hits.mturk.boto import marketplace
from hits.payments.summary import batch_money
from hits.selectors import console, publishing, reconciliation, review
from hits.selectors.eligibility.arms import arm_counts
from hits.selectors.eligibility.requirement_labels import who_may
from hits.selectors.instructions import of_kind, seen_in
from hits.selectors.records import unreadable
from hits.services.batches import lifecycle as services
from hits.services.collecting.records import read_records_again
from hits.services.environment import refuse_other_marketplace
from hits.services.errors import Refused
from hits.views.access import batch_page, project_page
from hits.views.balance import balance, forget_balance
from hits.views.pay import pay_context
from hits.views.who import person

# Where the submissions of such a batch are answered; the addresses belong to an app above.
_DESKS = {
    Purpose.QUALIFYING: ("applicants", "Grade applicants"),
    Purpose.TRAINING: ("training-desk", "Answer trainees"),
}
UNREADABLE_SHOWN = 5
AT_ONCE = 50  # more approvals than this go to a worker process


@require_safe
@project_page()
def project_batches(request: HttpRequest, project: Project) -> HttpResponse:
    """List a project's batches with how far they are."""
    rows = list(Batch.objects.filter(project=project))
    progress = console.progress_of(rows)
    publishing = console.being_published(rows)
    lines = [
        (
            batch,
            _kind_title(batch),
            at := progress[batch.pk],
            at.state(batch, publishing=batch.pk in publishing),
        )
        for batch in rows
    ]
    images = project.images.count() if not rows else 0
    context = {"project": project, "section": "batches", "lines": lines, "images": images}
    return render(request, "hits/batches/batches.html", context)


@require_safe
@batch_page()
def batch_detail(request: HttpRequest, batch: Batch) -> HttpResponse:
    """Show one batch."""
    progress = console.progress_of([batch])[batch.pk]
    jobs = list(Job.objects.filter(exclusive_key__in=_keys(batch)).order_by("-id")[:6])
    state = progress.state(batch, publishing=bool(console.being_published([batch])))
    context: dict[str, Any] = {
        "project": batch.project,
        "section": "batches",
        "batch": batch,
        "kind_title": _kind_title(batch),
        "desk": _desk(batch),
        "progress": progress,
        "state": state,
        "running": [job for job in jobs if job.state in OPEN_JOB_STATES],
        "stopped": _stopped(batch, jobs) if state == "stopped" else None,
        "money": batch_money(batch),
        "latest": review.latest(batch),
        "compared": reconciliation.totals(batch),
        "refused": review.refused_payments(batch),
        "not_extended": publishing.refused_extensions(batch),
        "surplus": publishing.surplus(batch),
        "unreadable": list(unreadable(batch)[:UNREADABLE_SHOWN]),
        "unreadable_count": unreadable(batch).count(),
        "orders": arm_counts([batch]),
        "kind": registry.get(batch.kind),
        "balance": balance(),
        "fees": batch.fees,
        "at_once": AT_ONCE,
    }
    context |= pay_context(batch) | _approve_all(batch, progress) | _told(batch)
    return render(request, "hits/batches/batch.html", context)


def _told(batch: Batch) -> dict[str, Any]:
    """Say who may do it and what they read, and offer the versions that it could show instead."""
    versions = list(of_kind(batch.project, batch.kind).defer("body", "examples"))
    shown = batch.instructions
    return {
        "who_may": who_may(batch),
        "told": shown,
        "seen": seen_in(batch),
        "others": [row for row in versions if row != shown],
        "may_change": batch.state != BatchState.CLOSED and (bool(versions) or shown is not None),
    }


def _desk(batch: Batch) -> tuple[str, str] | None:
    """Return address and words of the desk at which the batch's submissions are answered, besides the review desk."""
    try:
        name, words = _DESKS[registry.get(batch.kind).purpose]
        return reverse(name, args=[batch.project.slug]), words
    except (LookupError, NoReverseMatch):
        return None


def _kind_title(batch: Batch) -> str:
    try:
        return registry.get(batch.kind).title
    except LookupError:
        return batch.kind  # the kind's folder is gone; the rows still stand


def _keys(batch: Batch) -> list[str]:
    return [f"{what}:{batch.pk}" for what in ("publish", "sync", "approve", "close", "top-up", "extend")]


def _stopped(batch: Batch, jobs: list[Job]) -> dict[str, Any]:
    """Return why publishing stopped, as the latest job says."""
    job = next((job for job in jobs if job.exclusive_key == f"publish:{batch.pk}"), None)
    cancelled = job is not None and job.state == JobState.CANCELLED
    return {"error": job.error if job and not cancelled else "", "cancelled": cancelled}


def _approve_all(batch: Batch, progress: console.Progress) -> dict[str, Any]:
    """Say what approving all would pay out, and up to which row that was counted."""
    if not progress.waiting:
        return {"waiting": 0}
    alike, last = review.waiting_alike(batch)
    fees = batch.fees
    cents = sum(
        count
        * payout(
            reward_cents=batch.reward_cents,
            bonus_each_cents=batch.bonus_cents,
            items=items,
            max_assignments=most,
            fees=fees,
        ).total_cents
        for (most, items), count in alike.items()
    )
    return {"waiting": alike.total(), "waiting_cents": cents, "last": last}


def _act(request: HttpRequest, batch: Batch, done: str, service: Callable[..., Any]) -> HttpResponse:
    try:
        service(batch=batch, by=person(request))
    except Refused as error:
        messages.warning(request, str(error))
    else:
        messages.success(request, done)
    return redirect("batch-detail", batch.pk)


@require_POST
@batch_page()
def batch_sync(request: HttpRequest, batch: Batch) -> HttpResponse:
    """Look at the marketplace now."""
    return _act(request, batch, "The marketplace is being asked what came in.", services.request_sync)


@require_POST
@batch_page()
def batch_publish(request: HttpRequest, batch: Batch) -> HttpResponse:
    """Publish what is missing."""
    return _act(request, batch, "Publishing goes on where it stopped.", services.resume_publish)


@require_POST
@batch_page()
def batch_close(request: HttpRequest, batch: Batch) -> HttpResponse:
    """Stop offering the batch."""
    return _act(
        request, batch, "No new work is offered. Work in hand may still come in.", services.request_close
    )


@require_POST
@batch_page()
def batch_approve_all(request: HttpRequest, batch: Batch) -> HttpResponse:
    """Approve and pay what the dialog named."""
    last = row_number(request.POST.get("last", ""))
    if last is None:
        messages.error(request, "Nothing was approved: open the dialog again from the batch’s page.")
        return redirect("batch-detail", batch.pk)
    port = marketplace()
    try:
        refuse_other_marketplace(batch, port)
    except Refused as error:
        messages.error(request, f"Nothing was approved: {error}.")
        return redirect("batch-detail", batch.pk)
    if review.queue(batch).filter(pk__lte=last).count() > AT_ONCE:
        return _act(
            request,
            batch,
            "A worker process approves and pays them one by one.",
            lambda **args: services.request_approval(last=last, **args),
        )
    done = services.approve_waiting(batch=batch, last=last, by=person(request), marketplace=port)
    forget_balance()
    messages.success(request, f"{done.approved} approved.")
    if done.outstanding:
        messages.warning(request, f"{done.outstanding} payments are outstanding and will be repeated.")
    if done.skipped:
        messages.info(request, f"{done.skipped} were decided by somebody else meanwhile.")
    return redirect("batch-detail", batch.pk)


@require_POST
@batch_page()
def batch_read_records(request: HttpRequest, batch: Batch) -> HttpResponse:
    """Read again the records that could not be read."""
    found = read_records_again(batch=batch, by=person(request))
    if found.unreadable:
        messages.warning(
            request,
            f"Records of {found.unreadable} submissions still cannot be read; {found.read} were read.",
        )
    else:
        messages.success(request, f"Records of {found.read} submissions are read.")
    return redirect("batch-detail", batch.pk)
