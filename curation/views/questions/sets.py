"""Pages of question sets: build one, follow its job, see its buckets, folds and audits, and accept or reject it."""

from typing import Any

from django.contrib import messages
from django.http import HttpRequest, HttpResponse
from django.shortcuts import redirect, render
from django.views.decorators.http import require_POST, require_safe

from curation.models import QuestionSet, QuestionSetState
from curation.selectors import questions as selectors
from curation.selectors.published_questions import splits_kept_by_others
from curation.services import questions as services
from curation.views.pages import tab_context
from curation.views.questions.audit_panel import audit_panel
from curation.views.questions.figures import ShownSet, show_set
from curation.views.questions.forms import QuestionSetForm
from curation.views.questions.labels import describe_set_options
from hits.models import Project
from hits.services.errors import Refused
from hits.views.access import project_page
from hits.views.pages import action_messages, get_or_404, job_if_failed, job_if_open
from hits.views.users import signed_in_user

TAB = "questions"
MAX_COUNTED = 20_000  # triplets; counting 290,000 of them takes more than a second


@require_safe
@project_page()
def question_set_list(request: HttpRequest, project: Project) -> HttpResponse:
    """Show the project's question sets, with a form that builds one."""
    return _render_list(request, project, selectors.question_sets(project))


@require_POST
@project_page()
def build_question_set(request: HttpRequest, project: Project) -> HttpResponse:
    """Queue a question set."""
    sets = selectors.question_sets(project)
    form = _set_form(project, sets, request.POST)
    if not form.is_valid():
        return _render_list(request, project, sets, form=form, status=400)
    name = form.cleaned_data["name"]
    try:
        services.request_question_set(project, name, form.options, signed_in_user(request))
    except Refused as error:
        messages.error(request, f"Not started: {error}.")
        return _render_list(request, project, sets, form=form, status=400)
    messages.success(request, f"The question set {name} is queued.")
    return redirect("question-sets", project.slug)


def _set_form(project: Project, sets: list[QuestionSet], *given: Any) -> QuestionSetForm:
    used = [found.options for found in sets]
    return QuestionSetForm(*given, used=used, rehearsal=project.is_rehearsal, auto_id="set_%s")


def _render_list(
    request: HttpRequest,
    project: Project,
    sets: list[QuestionSet],
    *,
    form: QuestionSetForm | None = None,
    status: int = 200,
) -> HttpResponse:
    triplets = selectors.count_set_triplets(project, MAX_COUNTED)
    context = tab_context(project, TAB) | {
        "form": form or _set_form(project, sets),
        "jobs": [found.job for found in sets if job_if_open(found.job)],
        "failed_jobs": [
            found.job
            for found in sets
            if found.state == QuestionSetState.BUILDING and job_if_failed(found.job)
        ],
        "triplets": min(triplets, MAX_COUNTED),
        "has_more_triplets": triplets > MAX_COUNTED,
        "sets": [(found, bool(selectors.stand_in_of_similarity(found))) for found in sets],
    }
    return render(request, "curation/questions/sets.html", context, status=status)


def get_question_set(project: Project, set_id: int) -> QuestionSet:
    """Return a set of the project, or raise Http404."""
    rows = QuestionSet.objects.select_related("job", "created_by")
    return get_or_404(rows.filter(pk=set_id, project=project).first())


@require_safe
@project_page()
def question_set(request: HttpRequest, project: Project, set_id: int) -> HttpResponse:
    """Show one set: options, readings, buckets with their certificates, folds, fitted shares and audits."""
    found = get_question_set(project, set_id)
    shown: ShownSet = show_set(found)
    context = tab_context(project, TAB) | {
        "question_set": found,
        "shown": shown,
        "audits": audit_panel(found),
        "options": describe_set_options(found.options),
        "stand_in": selectors.stand_in_of_similarity(found),
        "job": job_if_open(found.job),
        "failed": job_if_failed(found.job) if not selectors.is_built(found) else None,
        "is_built": selectors.is_built(found),
        "kept_text": _kept_text(found),
    }
    return render(request, "curation/questions/set.html", context)


def _kept_text(found: QuestionSet) -> str:
    """Return a sentence on the held splits that versions do not take from a set; empty without any."""
    kept = splits_kept_by_others(found).items()
    each = (f"those of {split} stay those of {name}, which published them" for split, name in kept)
    return "".join(f" But {text}." for text in each)


@require_POST
@project_page()
def accept_question_set(request: HttpRequest, project: Project, set_id: int) -> HttpResponse:
    """Accept a set for versions."""
    found = get_question_set(project, set_id)
    with action_messages(
        request,
        "Not accepted",
        f"{found.name} is accepted; later versions hold its questions.{_kept_text(found)}",
    ):
        services.accept_question_set(question_set=found, by=signed_in_user(request))
    return redirect("question-set", project.slug, found.pk)


@require_POST
@project_page()
def reject_question_set(request: HttpRequest, project: Project, set_id: int) -> HttpResponse:
    """Make an accepted set a draft again."""
    found = get_question_set(project, set_id)
    with action_messages(request, "Not rejected", f"{found.name} is a draft; later versions do not hold it."):
        services.reject_question_set(question_set=found, by=signed_in_user(request))
    return redirect("question-set", project.slug, found.pk)


@require_POST
@project_page()
def delete_question_set(request: HttpRequest, project: Project, set_id: int) -> HttpResponse:
    """Delete a set that nothing depends on."""
    found = get_question_set(project, set_id)
    try:
        services.delete_question_set(question_set=found, by=signed_in_user(request))
    except Refused as error:
        messages.error(request, f"Not deleted: {error}.")
        return redirect("question-set", project.slug, found.pk)
    messages.success(request, f"The question set {found.name} is deleted.")
    return redirect("question-sets", project.slug)
