"""The list of batches, and one batch with its progress, problems and costs."""

from collections.abc import Callable
from typing import Any

from django.contrib import messages
from django.http import HttpRequest, HttpResponse
from django.shortcuts import redirect, render
from django.urls import NoReverseMatch, reverse
from django.views.decorators.http import require_POST, require_safe

from hits import registry
from hits.domain.answers.text import parse_digits
from hits.domain.states import OPEN_JOB_STATES, BatchState, JobState, Purpose
from hits.models import Batch, Job, Project
from hits.mturk.boto import marketplace
from hits.payments.summary import sum_batch_money
from hits.selectors import console, publishing, reconciliation, review
from hits.selectors.eligibility.arms import count_answers_by_arm
from hits.selectors.eligibility.requirement_labels import batch_eligibility_summary
from hits.selectors.instructions import count_submissions_by_version, kind_versions
from hits.selectors.money.pay import kind_title_or_name
from hits.selectors.records import unreadable_assignments
from hits.services.batches import lifecycle as services
from hits.services.collecting.records import reread_records
from hits.services.environment import refuse_other_environment_or_fees
from hits.services.errors import Refused
from hits.views.access import batch_page, project_page
from hits.views.balance import account_balance, clear_cached_balance
from hits.views.pages import action_messages, batch_context
from hits.views.pay import pay_context
from hits.views.users import signed_in_user

# The review queues of these purposes; their addresses belong to an app above.
_QUEUE_PAGES = {
    Purpose.QUALIFYING: ("applicants", "Grade applicants"),
    Purpose.TRAINING: ("training-queue", "Answer trainees"),
}
MAX_UNREADABLE_SHOWN = 5
MAX_APPROVALS_IN_REQUEST = 50  # more approvals than this are left to a worker process


@require_safe
@project_page()
def project_batches(request: HttpRequest, project: Project) -> HttpResponse:
    """List a project's batches with their progress."""
    rows = list(Batch.objects.filter(project=project))
    progress = console.progress_by_batch(rows)
    publishing = console.publishing_batch_ids(rows)
    table_rows = [
        (
            batch,
            kind_title_or_name(batch.kind),
            at := progress[batch.pk],
            at.state_label(batch, publishing=batch.pk in publishing),
        )
        for batch in rows
    ]
    images = project.images.count() if not rows else 0
    context = {"project": project, "section": "batches", "rows": table_rows, "images": images}
    return render(request, "hits/batches/batches.html", context)


@require_safe
@batch_page()
def batch_detail(request: HttpRequest, batch: Batch) -> HttpResponse:
    """Show one batch."""
    progress = console.progress_by_batch([batch])[batch.pk]
    jobs = list(Job.objects.filter(exclusive_key__in=_exclusive_job_keys(batch)).order_by("-id")[:6])
    state = progress.state_label(batch, publishing=bool(console.publishing_batch_ids([batch])))
    context = batch_context(batch) | {
        "kind_title": kind_title_or_name(batch.kind),
        "queue_page": own_queue_link(batch),
        "progress": progress,
        "state": state,
        "running": [job for job in jobs if job.state in OPEN_JOB_STATES],
        "stopped": _publishing_stopped_context(batch, jobs) if state == "stopped" else None,
        "money": sum_batch_money(batch),
        "latest": review.load_newest_assignments(batch),
        "reconciliation": reconciliation.reconciliation_totals(batch),
        "refused": review.refused_payments(batch),
        "not_extended": publishing.refused_extension_calls(batch),
        "surplus": publishing.surplus_hit_events(batch),
        "unreadable": list(unreadable_assignments(batch)[:MAX_UNREADABLE_SHOWN]),
        "unreadable_count": unreadable_assignments(batch).count(),
        "orders": count_answers_by_arm([batch]),
        "kind": registry.get_kind(batch.kind),
        "balance": account_balance(),
        "fees": batch.fees,
        "max_approvals_in_request": MAX_APPROVALS_IN_REQUEST,
    }
    context |= pay_context(batch) | _approval_context(batch, progress) | _instructions_context(batch)
    return render(request, "hits/batches/batch.html", context)


def _instructions_context(batch: Batch) -> dict[str, Any]:
    """Return the eligibility, the current instructions and the other versions."""
    versions = list(kind_versions(batch.project, batch.kind).defer("body", "examples"))
    shown = batch.instructions
    return {
        "eligibility": batch_eligibility_summary(batch),
        "shown_version": shown,
        "version_counts": count_submissions_by_version(batch),
        "other_versions": [row for row in versions if row != shown],
        "can_change_instructions": batch.state != BatchState.CLOSED and (bool(versions) or shown is not None),
    }


def own_queue_link(batch: Batch) -> tuple[str, str] | None:
    """Return URL and label of the batch's own review queue, or ``None`` if it uses the common one."""
    try:
        name, label = _QUEUE_PAGES[registry.get_kind(batch.kind).purpose]
        return reverse(name, args=[batch.project.slug]), label
    except (LookupError, NoReverseMatch):
        return None


def _exclusive_job_keys(batch: Batch) -> list[str]:
    return [
        f"{job_name}:{batch.pk}" for job_name in ("publish", "sync", "approve", "close", "top-up", "extend")
    ]


def _publishing_stopped_context(batch: Batch, jobs: list[Job]) -> dict[str, Any]:
    """Return why publishing stopped, from the latest job."""
    job = next((job for job in jobs if job.exclusive_key == f"publish:{batch.pk}"), None)
    cancelled = job is not None and job.state == JobState.CANCELLED
    return {"error": job.error if job and not cancelled else "", "cancelled": cancelled}


def _approval_context(batch: Batch, progress: console.BatchProgress) -> dict[str, Any]:
    """Return the cost of approving all, and the highest primary key that was counted."""
    if not progress.waiting:
        return {"waiting": 0}
    payout_counts, last = review.waiting_counts_by_pay_and_last_pk(batch)
    cents = sum(
        count * batch.approval_cost(most, items).total_cents for (most, items), count in payout_counts.items()
    )
    return {"waiting": payout_counts.total(), "waiting_cents": cents, "last": last}


def run_service(
    request: HttpRequest, batch: Batch, success_message: str, service: Callable[..., Any]
) -> HttpResponse:
    """Call a service about a batch, report its success or refusal, and redirect to the batch."""
    with action_messages(request, success=success_message, level=messages.WARNING):
        service(batch=batch, by=signed_in_user(request))
    return redirect("batch-detail", batch.pk)


@require_POST
@batch_page()
def batch_sync(request: HttpRequest, batch: Batch) -> HttpResponse:
    """Synchronise with the marketplace now."""
    return run_service(request, batch, "New submissions are being fetched.", services.request_sync)


@require_POST
@batch_page()
def batch_publish(request: HttpRequest, batch: Batch) -> HttpResponse:
    """Publish the unpublished HITs."""
    return run_service(request, batch, "Publishing continues.", services.request_publication)


@require_POST
@batch_page()
def batch_close(request: HttpRequest, batch: Batch) -> HttpResponse:
    """Stop offering the batch."""
    return run_service(
        request,
        batch,
        "The batch offers no new work. Tasks in progress may still be submitted.",
        services.request_close,
    )


@require_POST
@batch_page()
def batch_approve_all(request: HttpRequest, batch: Batch) -> HttpResponse:
    """Approve and pay the submissions that the dialog counted."""
    last = parse_digits(request.POST.get("last", ""))
    if last is None:
        messages.error(request, "Nothing was approved: open the dialog on the batch’s page again.")
        return redirect("batch-detail", batch.pk)
    port = marketplace()
    try:
        refuse_other_environment_or_fees(batch, port)
    except Refused as error:
        messages.error(request, f"Nothing was approved: {error}.")
        return redirect("batch-detail", batch.pk)
    if review.review_queue(batch).filter(pk__lte=last).count() > MAX_APPROVALS_IN_REQUEST:
        return run_service(
            request,
            batch,
            "A worker process approves and pays the submissions one by one.",
            lambda **args: services.request_approval_of_waiting(last_pk=last, **args),
        )
    result = services.approve_waiting_assignments(
        batch=batch, last_pk=last, by=signed_in_user(request), marketplace=port
    )
    clear_cached_balance()
    messages.success(request, f"{result.approved} approved.")
    if result.outstanding:
        messages.warning(request, f"{result.outstanding} payments are outstanding and will be retried.")
    if result.skipped:
        messages.info(request, f"{result.skipped} were already decided by another person.")
    return redirect("batch-detail", batch.pk)


@require_POST
@batch_page()
def batch_reread_records(request: HttpRequest, batch: Batch) -> HttpResponse:
    """Retry the records that could not be read."""
    result = reread_records(batch=batch, by=signed_in_user(request))
    if result.unreadable:
        messages.warning(
            request,
            f"Records of {result.unreadable} submissions still cannot be read; {result.read} were read.",
        )
    else:
        messages.success(request, f"Records of {result.read} submissions were read.")
    return redirect("batch-detail", batch.pk)
