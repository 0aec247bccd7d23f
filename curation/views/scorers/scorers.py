"""Scorer pages: the list, one scorer with its training run, and the training form."""

from collections.abc import Callable
from functools import wraps
from typing import Any

from django.contrib import messages
from django.http import FileResponse, Http404, HttpRequest, HttpResponse, HttpResponseBase
from django.shortcuts import redirect, render
from django.utils.cache import add_never_cache_headers
from django.views.decorators.http import require_http_methods, require_POST, require_safe

from curation.models import DatasetVersion, Scorer
from curation.records import InvalidInput
from curation.scorer.training import journal
from curation.selectors import scorers as scorer_selectors
from curation.selectors.rounds import rated_split_or_empty
from curation.selectors.versions import sealed_versions
from curation.services import scorers as services
from curation.services.evaluations import request_evaluation
from curation.versions.families import family_of
from curation.views.pages import grouped_hash, tab_context
from curation.views.scorers import scorer_labels as labels
from curation.views.scorers.scorer_charts import training_panels
from curation.views.scorers.scorer_forms import TrainingForm
from hits.models import Project
from hits.selectors.jobs import can_resume
from hits.services.errors import Refused
from hits.views.access import project_page
from hits.views.pages import get_or_404, job_if_failed, job_if_open
from hits.views.users import signed_in_user

FILES = {
    journal.LOSSES_FILE: "text/csv",
    journal.VALIDATIONS_FILE: "text/csv",
    journal.ENVIRONMENT_FILE: "application/json",
}
MAX_LISTED = 5  # newest evaluations shown; the rest are on the page Evaluations
View = Callable[..., HttpResponseBase]


def scorer_page(view: View) -> View:
    """Decorate ``view(request, project, scorer, …)`` as a researcher's view of a project's scorer."""

    @project_page()
    @wraps(view)
    def wrapped(
        request: HttpRequest, project: Project, scorer_id: int, *args: Any, **kwargs: Any
    ) -> HttpResponseBase:
        scorer = get_or_404(scorer_selectors.get_scorer(project, scorer_id), "There is no such scorer.")
        return view(request, project, scorer, *args, **kwargs)

    return wrapped


@require_safe
@project_page()
def scorer_list(request: HttpRequest, project: Project) -> HttpResponse:
    """Show the project's scorers."""
    rows = list(scorer_selectors.scorers(project))
    import_job = scorer_selectors.newest_import_if_unfinished(project)
    context = tab_context(project, "scorers", "scorers") | {
        "jobs": [job for job in (import_job, *(row.job for row in rows)) if job_if_open(job)],
        "failed": job_if_failed(import_job),
        "rows": [
            (
                row,
                *labels.state_badge(row),
                labels.describe_settings(row),
                row.figures.get("p_at_1"),
                row.figures.get("steps"),
            )
            for row in rows
        ],
        "family": family_of(project),
        "versions": _trainable_versions(project),
    }
    return render(request, "curation/scorers/scorers.html", context)


@require_http_methods(["GET", "HEAD", "POST"])
@project_page()
def scorer_train(request: HttpRequest, project: Project) -> HttpResponse:
    """Show the training form; queue a training run."""
    versions = {version: scorer_selectors.split_counts(version) for version in _trainable_versions(project)}
    form = _make_form(request, project, versions)
    if request.method == "POST" and form.is_valid():
        try:
            arguments = form.training_arguments
            scorer = services.request_training(project=project, by=signed_in_user(request), **arguments)
        except (Refused, InvalidInput) as error:
            form.add_service_error(error)
        else:
            queued = f"The training of {scorer.name} is queued. This page shows its progress."
            messages.success(request, queued)
            return redirect("scorer", project.slug, scorer.pk)
    context = tab_context(project, "scorers", "scorers") | {
        "form": form,
        "family": family_of(project),
        "versions": versions,
    }
    return render(request, "curation/scorers/scorer_train.html", context, status=400 if form.errors else 200)


def _trainable_versions(project: Project) -> list[DatasetVersion]:
    """Return the sealed versions a scorer can be trained on, empty if the family does not support it."""
    return sealed_versions(project) if family_of(project).can_evaluate else []


def _make_form(request: HttpRequest, project: Project, versions: dict[DatasetVersion, Any]) -> TrainingForm:
    ready = scorer_selectors.ready_scorers(project)
    start = request.GET.get("model", "")
    newest = next(iter(versions), None)
    base = newest.name if newest else ""
    if start and base:
        base = f"{base} {services.short_model_name(start)}"
    initial = {"name": services.next_free_name(project, base) if base else "", "model": start or None}
    return TrainingForm(
        versions,
        ready,
        request.POST or None,
        initial={name: value for name, value in initial.items() if value},
    )


@require_safe
@scorer_page
def scorer_detail(request: HttpRequest, project: Project, scorer: Scorer) -> HttpResponse:
    """Show a scorer: its training, facts and lineage."""
    job = scorer.job
    badge, state = labels.state_badge(scorer)
    evaluations = list(scorer_selectors.scorer_evaluations(scorer))
    context = tab_context(project, "scorers", "scorers") | {
        "scorer": scorer,
        "badge": badge,
        "state_label": state,
        "settings": labels.describe_settings(scorer),
        "facts": labels.scorer_facts(scorer),
        "hash_lines": grouped_hash(scorer.weights_sha256),
        "open_job": job_if_open(job),
        "stopped_job": job if job is not None and can_resume(job) else None,
        "rehearsal": services.is_from_rehearsal(scorer),
        "ancestry": scorer_selectors.scorer_and_ancestors(scorer)[1:],
        "children": list(scorer.children.all()),
        "rounds": scorer_selectors.scorer_rounds(scorer),
        "evaluations": [(row, labels.describe_evaluation(row)) for row in evaluations[:MAX_LISTED]],
        "more_evaluations": max(0, len(evaluations) - MAX_LISTED),
        "judged": scorer_selectors.judged_rounds(scorer) if scorer.is_ready else [],
        "files": [
            name for name in sorted(FILES) if (scorer_selectors.scorer_folder(scorer) / name).is_file()
        ],
        "warning": services.known_pairs_warning(scorer) if scorer.is_ready else "",
    }
    return render(request, "curation/scorers/scorer.html", context | _training_context(scorer))


@require_POST
@scorer_page
def scorer_evaluate(request: HttpRequest, project: Project, scorer: Scorer) -> HttpResponse:
    """Queue an evaluation of a scorer on the judgments of a round whose candidates it chose."""
    round_id = request.POST.get("round", "")
    judged = (found for found in scorer_selectors.judged_rounds(scorer) if str(found[0].pk) == round_id)
    chosen, version = get_or_404(next(judged, None), "There is no such round with sealed judgments.")
    try:
        row = request_evaluation(
            project=project,
            by=signed_in_user(request),
            version=version,
            split=rated_split_or_empty(chosen, version),
            encoder=scorer.encoder_name,
        )
    except Refused as error:
        messages.error(request, f"Not started: {str(error).rstrip('.')}.")
        return redirect("scorer", project.slug, scorer.pk)
    messages.success(request, f"{scorer.name} is being evaluated on {version.name}.")
    return redirect("evaluation", project.slug, row.pk)


@require_safe
@scorer_page
def scorer_training_plots(request: HttpRequest, project: Project, scorer: Scorer) -> HttpResponse:
    """Return only the plots, with which the page of an unfinished scorer updates itself."""
    reply = render(request, "curation/scorers/_losses.html", _training_context(scorer))
    add_never_cache_headers(reply)
    return reply


def _training_context(scorer: Scorer) -> dict[str, Any]:
    """Return the context of a run's plots."""
    folder = scorer_selectors.scorer_folder(scorer)
    losses, validations = journal.read_losses(folder), journal.read_validations(folder)
    last = losses[-1] if losses else None
    job = scorer.job
    return {
        "scorer": scorer,
        "panels": training_panels(losses, validations),
        "validations": validations[::-1],
        "kept_step": next((row["step"] for row in reversed(validations) if row["kept"]), None),
        "last": last and {**last, "speed": f"{last['images_per_second']:,.0f}"},
        "is_running": job_if_open(job) is not None,
    }


@require_safe
@scorer_page
def scorer_file(request: HttpRequest, project: Project, scorer: Scorer, name: str) -> FileResponse:
    """Download a file of a training run."""
    path = scorer_selectors.scorer_folder(scorer) / name
    if name not in FILES or not path.is_file():
        raise Http404("There is no such file of this scorer.")
    download_name = f"{scorer.name.replace(' ', '-')}-{name}"
    return FileResponse(path.open("rb"), as_attachment=True, filename=download_name, content_type=FILES[name])
