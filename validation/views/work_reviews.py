"""Pages about reviews of submissions: the sample, who reviews, what was found, and digests of 48 hours."""

import re
from functools import partial
from typing import Any

from django import forms
from django.contrib import messages
from django.http import Http404, HttpRequest, HttpResponse
from django.shortcuts import redirect, render
from django.urls import reverse
from django.utils import timezone
from django.views.decorators.http import require_http_methods, require_POST, require_safe

from hits.domain.workers.qualification_pools import Pool
from hits.forms import read_idempotency_key
from hits.forms.hourly_rate import suggest_reward
from hits.models import Project, Worker
from hits.services.launching.terms import LaunchTerms
from hits.views.access import project_page
from hits.views.batches.launch import find_repeated_launch, report_launch
from hits.views.costs import add_balance_to_terms, launch_if_confirmed
from hits.views.pages import action_messages, get_or_404, get_page, section_context
from hits.views.users import signed_in_user
from validation.domain.judging.sampling import MAX_SEED
from validation.domain.judging.spec import Dimension, Scale
from validation.domain.judging.work_samples import DEFAULT_EVERY, MAX_EVERY
from validation.domain.qualification.work_digest import window_bounds, window_number
from validation.selectors import work_digest, workers
from validation.selectors import work_reviews as selectors
from validation.services import work_reviews as services
from validation.views.judging_forms import RoundTermsForm

PER_PAGE = 10
_WORKER_PATTERN = re.compile(r"\s*(?:[Ww]-?)?(\d{1,12})\s*")
_WINDOW_PATTERN = re.compile(r"\d{1,6}")


class WorkReviewForm(RoundTermsForm):
    """The sample and the pay of a round of reviews; every round is for reviewers alone."""

    every = forms.IntegerField(
        min_value=1,
        max_value=MAX_EVERY,
        label="One HIT in",
        help_text="1 reviews every submission. Zellers et al. 2019 reviewed about one in fifty.",
    )
    seed = forms.IntegerField(
        min_value=0,
        max_value=MAX_SEED,
        label="Seed",
        help_text="It decides which HITs are reviewed, so workers must not know it. Keep it for the whole project.",
    )

    def __init__(self, project: Project, *args: Any, **kwargs: Any) -> None:
        initial = {"every": DEFAULT_EVERY, "seed": services.default_seed(project)}
        super().__init__(selectors.submission_spec().name, *args, initial=initial, **kwargs)
        del self.fields["pool"]
        self.fields["reward"].help_text = "US dollars per review."
        self.fields["assignments"].label = "Reviewers per submission"
        self.fields["assignments"].help_text = "Different workers, never the author."
        self.order_fields(["name", "every", "seed", "assignments", "reward"])

    @property
    def selected_pool(self) -> Pool | None:
        """The pool that reviewers belong to."""
        return Pool.WORK_REVIEWERS


@require_http_methods(["GET", "HEAD", "POST"])
@project_page()
def work_review(request: HttpRequest, project: Project) -> HttpResponse:
    """Show the reviews, what they found and who reviews; launch a round in two steps."""
    if find_repeated_launch(request, project) is not None:
        return redirect("work-review", project.slug)
    form = WorkReviewForm(project, request.POST or None)
    suggest_reward(form, project=project, kind=form.kind)
    extra: dict[str, Any] = {}
    status = 200
    if request.method == "POST" and request.POST.get("step") != "change":
        reply = _launch_step(request, project, form)
        if isinstance(reply, HttpResponse):
            return reply
        extra, status = reply
    context = section_context(project, "judging") | {
        "form": form,
        "kind": form.kind,
        "rounds": selectors.review_rounds(project),
        "new_submissions": selectors.reviewable_assignments(project).count(),
        "waiting": selectors.count_waiting_reviews(project),
    }
    return render(
        request,
        "validation/work_review/work_review.html",
        context | _people_context(request, project) | extra,
        status=status,
    )


def _launch_step(
    request: HttpRequest, project: Project, form: WorkReviewForm
) -> HttpResponse | tuple[dict[str, Any], int]:
    """Return the reply to a launch, or the context and status of the page that asks for a confirmation."""
    if not form.is_valid():
        return {}, 400
    data = form.cleaned_data
    sampled, new = services.count_sample(project, every=data["every"], seed=data["seed"])
    if not sampled:
        message = f"None of {new} new submissions is in this sample. Use a smaller number, or wait for more."
        form.add_error("every", message)
        return {}, 400
    refusal = launch_if_confirmed(request, partial(_launch, request, project, form))
    if isinstance(refusal, HttpResponse):
        return refusal
    return form.confirm_context(project, sampled) | refusal, 400 if refusal else 200


def _launch(request: HttpRequest, project: Project, form: WorkReviewForm) -> str:
    data = form.cleaned_data
    terms: LaunchTerms = add_balance_to_terms(form.terms)
    launched = services.launch_work_review(
        project=project,
        by=signed_in_user(request),
        every=data["every"],
        seed=data["seed"],
        name=data["name"],
        terms=terms,
        idempotency_key=read_idempotency_key(request.POST),
    )
    if launched.batch is None:
        messages.info(request, "Another round was launched just now; no new submission is in the sample.")
    else:
        report_launch(request, launched.batch, f"its {launched.sampled} tasks are")
    return reverse("work-review", args=[project.slug])


def _people_context(request: HttpRequest, project: Project) -> dict[str, Any]:
    """Return the reviewers with their numbers of reviews, and one page of authors with what was found."""
    spec = selectors.submission_spec()
    found = selectors.reviewed_workers(project)
    counts = selectors.review_counts_by_reviewer(project)
    part_dimensions = [row for row in spec.dimensions if not row.is_whole]
    whole = next(row for row in spec.dimensions if row.is_whole and row.scale is not Scale.TEXT)
    page = get_page(request, found, PER_PAGE)
    return {
        "reviewers": [(worker, counts.get(worker.pk, 0)) for worker in selectors.reviewers(project)],
        "reviewed": sum(row.submissions for row in found),
        "headings": [_heading(row) for row in part_dimensions],
        "page": page,
        "authors": [
            {
                "row": row,
                "cells": [(_heading(dimension), row.count(dimension)) for dimension in part_dimensions],
                "overall": [(whole.label_text(label), n) for label, n in sorted(row.overall.items())],
            }
            for row in page
        ],
    }


def _heading(dimension: Dimension) -> str:
    return dimension.share_heading[0] if dimension.share_heading else dimension.title


@require_POST
@project_page()
def reviewer_set(request: HttpRequest, project: Project) -> HttpResponse:
    """Make a worker a reviewer, or take it back."""
    back = redirect("work-review", project.slug)  # its top, where messages are
    typed = request.POST.get("worker", "")[:20]
    match = _WORKER_PATTERN.fullmatch(typed)
    worker = workers.find_worker(project, int(match[1])) if match else None
    if worker is None:
        messages.error(
            request,
            f"Nothing changed: no worker of this project is “{typed}”. Write a number from People, Workers, such as "
            "W-12. Workers get it with their first submission.",
        )
        return back
    is_reviewer = request.POST.get("on") == "yes"
    done = (
        f"{worker} {'may review now' if is_reviewer else 'reviews no longer'}; the marketplace follows soon."
    )
    with action_messages(request, "Nothing changed", done):
        services.set_reviewer(
            project=project,
            worker=worker,
            is_reviewer=is_reviewer,
            reason=request.POST.get("reason", ""),
            by=signed_in_user(request),
        )
    return back


@require_safe
@project_page()
def digests(request: HttpRequest, project: Project) -> HttpResponse:
    """Show each worker's digest of a window of 48 hours, by default the newest complete one."""
    now = window_number(timezone.now())
    window = _requested_window(request, now)
    start, end = window_bounds(window)
    page = get_page(request, work_digest.list_digests(project, window), PER_PAGE)
    context = section_context(project, "judging") | {
        "window": window,
        "start": start,
        "end": end,
        "is_running": window == now,
        "has_next": window < now,
        "target_cents": project.target_cents_per_hour,
        "page": page,
        "digests": list(page),
    }
    return render(request, "validation/work_review/digests.html", context)


def _requested_window(request: HttpRequest, now: int) -> int:
    requested = request.GET.get("window", str(now - 1))
    if not _WINDOW_PATTERN.fullmatch(requested) or int(requested) > now:
        raise Http404("There is no such digest.")
    return int(requested)


@require_POST
@project_page()
def digest_send(request: HttpRequest, project: Project, worker_id: int, window: int) -> HttpResponse:
    """Send a digest's text to its worker."""
    worker: Worker = get_or_404(workers.find_worker(project, worker_id))
    with action_messages(request, "Not sent", f"The message to {worker} is being sent."):
        services.send_digest(
            project=project,
            worker=worker,
            window=window,
            text=request.POST.get("text", ""),
            by=signed_in_user(request),
        )
    return redirect(f"{reverse('work-digests', args=[project.slug])}?window={window}#{worker}")
