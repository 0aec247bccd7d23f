"""Pages about interesting photos: label them, train models, see which photos a model selects."""

from collections.abc import Sequence
from dataclasses import dataclass
from typing import Any
from urllib.parse import urlencode

from django.contrib import messages
from django.http import HttpRequest, HttpResponse
from django.shortcuts import redirect, render
from django.urls import reverse
from django.views.decorators.cache import never_cache
from django.views.decorators.http import require_http_methods

from curation.interest.threshold import MIN_LABELS
from curation.models import InterestModel, InterestModelKind
from curation.selectors import interest as selectors
from curation.selectors import interest_models as models
from curation.selectors.jobs import TRAIN_INTEREST, latest_job
from curation.selectors.writing_units import PLANNER
from curation.services import interest as services
from curation.views.features import ENCODER_LABELS
from curation.views.interest_charts import precision_recall_chart
from curation.views.interest_forms import KIND_LABELS, OKAY_LABELS, RulesForm, TrainingForm
from curation.views.pages import tab_context
from hits.domain.answers.text import parse_digits
from hits.domain.images.image_facts import ImageFacts
from hits.models import Image, Project
from hits.selectors.images.images import image_facts, usable_images
from hits.selectors.unit_planners import planner_of
from hits.services.errors import Refused
from hits.views.access import project_page
from hits.views.batches.launch import photo_kinds
from hits.views.pages import get_or_404, get_page, job_if_failed, job_if_open
from hits.views.users import signed_in_user

PHOTOS_PER_PAGE = 60
VERDICTS = ((-1, "Boring", "1"), (0, "Okay", "2"), (1, "Interesting", "3"))  # verdict, label, key
VERDICT_LABELS = {verdict: label for verdict, label, _ in VERDICTS}
ORDER_LABELS = {
    models.HIGHEST: "Highest score first",
    models.LOWEST: "Lowest score first",
    models.THRESHOLD: "Nearest above the threshold",
}


@dataclass(frozen=True, slots=True)
class ScoredPhoto:
    """A photo of the contact sheet."""

    image: ImageFacts
    score: float
    is_selected: bool


@require_http_methods(["GET", "HEAD", "POST"])
@project_page()
def interest_list(request: HttpRequest, project: Project) -> HttpResponse:
    """Show labels and models; train one."""
    form = TrainingForm(project, request.POST if request.method == "POST" else None, auto_id="interest_%s")
    if request.method == "POST" and form.is_valid():
        try:
            services.request_interest_training(
                project=project, by=signed_in_user(request), options=form.options
            )
        except Refused as error:
            form.add_error(None, f"Not started: {error}.")
        else:
            messages.success(request, "The training is queued.")
            return redirect("interest", project.slug)
    status = 400 if form.errors else 200
    return render(
        request, "curation/interest/interest.html", _list_context(request, project, form), status=status
    )


def _list_context(request: HttpRequest, project: Project, form: TrainingForm) -> dict[str, Any]:
    job = latest_job(project, TRAIN_INTEREST)
    return tab_context(project, "interest") | {
        "form": form,
        "models": [(row, KIND_LABELS[row.row.kind]) for row in models.list_models(project)],
        "labels": selectors.label_summary(project),
        "min_labels": MIN_LABELS,
        "with_objects": selectors.images_with_objects(project).count(),
        "own_labels": selectors.count_labelled_images(project, signed_in_user(request)),
        "job": job_if_open(job),
        "failed": job_if_failed(job),
    }


@require_http_methods(["GET", "HEAD", "POST"])
@project_page()
def interest_model(request: HttpRequest, project: Project, interest_id: int) -> HttpResponse:
    """Show a model's figures and its photos by score; score all photos with it."""
    model = get_or_404(models.find_model(project, interest_id))
    form = RulesForm(request.POST if request.method == "POST" else None, auto_id="rules_%s")
    if request.method == "POST" and form.is_valid():
        try:
            services.request_interest_selection(
                project=project, by=signed_in_user(request), rules=form.rules, model=model
            )
        except Refused as error:
            form.add_error(None, f"Not started: {error}.")
        else:
            messages.success(request, "The selection is queued.")
            return redirect("interest-model", project.slug, model.pk)
    status = 400 if form.errors else 200
    return render(
        request, "curation/interest/interest_model.html", _model_context(request, model, form), status=status
    )


def _model_context(request: HttpRequest, model: InterestModel, form: RulesForm) -> dict[str, Any]:
    order = request.GET.get("order", models.HIGHEST)
    order = order if order in models.ORDERS else models.HIGHEST
    page = get_page(request, models.scores_in_order(model, order), PHOTOS_PER_PAGE)
    job = models.latest_selection(model)
    options = model.options
    return tab_context(model.project, "interest") | {
        "model": model,
        "kind": KIND_LABELS[model.kind],
        "encoder": ENCODER_LABELS.get(model.encoder, model.encoder),
        "okay": OKAY_LABELS[options["okay"]],
        "chart": precision_recall_chart(
            model.figures, min_precision=options["min_precision"], min_kept=options["min_kept"]
        ),
        "weights": _weight_rows(model),
        "form": form,
        "job": job_if_open(job),
        "failed": job_if_failed(job),
        "last": job.result if job is not None and "selected" in job.result else None,
        "page": page,
        "photos": _scored_photos(model, page),
        "selected": models.count_selected(model),
        "writing_kind": _writing_kind(model.project),
        "orders": [(name, ORDER_LABELS[name]) for name in models.ORDERS],
        "order": order,
    }


def _writing_kind(project: Project) -> str:
    """Return the name of the first kind whose units the writing planner plans; empty without one."""
    return next((kind.name for kind in photo_kinds(project) if planner_of(kind) is PLANNER), "")


def _weight_rows(model: InterestModel) -> list[tuple[str, float]]:
    """Return the weights of a model on counts with their labels; none for other models."""
    if model.kind != InterestModelKind.COUNTS:
        return []
    labels = {"intercept": "Intercept", "people": "ln(1 + people)", "others": "ln(1 + other objects)"}
    return [(label, model.weights[name]) for name, label in labels.items()]


def _scored_photos(model: InterestModel, rows: Any) -> Sequence[ScoredPhoto]:
    threshold = model.threshold or 0.0
    return [ScoredPhoto(image_facts(row.image), row.score, row.score >= threshold) for row in rows]


# The page on which a person labels photos


@require_http_methods(["GET", "HEAD", "POST"])
@never_cache
@project_page()
def interest_label(request: HttpRequest, project: Project) -> HttpResponse:
    """Show the next photo that this person has not labelled, or the one that the address names; store a verdict."""
    if request.method == "POST":
        return _store_label(request, project)
    person = signed_in_user(request)
    named = _find_image(project, request.GET.get("photo"))
    upcoming = selectors.images_to_label(project, person, 2)
    image = named or (upcoming[0] if upcoming else None)
    own = selectors.newest_label(image, person) if image else None
    previous = selectors.last_labelled_image(project, person)
    following = [other for other in upcoming if other != image][:1]
    context = tab_context(project, "interest") | {
        "image": image_facts(image) if image else None,
        "own": own,
        "verdicts": VERDICTS,
        "labelled": selectors.count_labelled_images(project, person),
        "photos": selectors.images_with_objects(project).count(),
        "previous": previous if previous != image else None,
        "following": [image_facts(other) for other in following],
        "saved": VERDICT_LABELS.get(_read_verdict(request.GET.get("saved"))),
    }
    return render(request, "curation/interest/interest_label.html", context)


def _store_label(request: HttpRequest, project: Project) -> HttpResponse:
    """Store the verdict, and redirect to the next photo."""
    image = get_or_404(_find_image(project, request.POST.get("photo")), "There is no such photo.")
    verdict = _read_verdict(request.POST.get("verdict"))
    address = reverse("interest-label", args=[project.slug])
    try:
        services.label_image(image=image, verdict=verdict, by=signed_in_user(request))
    except Refused as error:
        messages.error(request, f"Not saved: {error}.")
        return redirect(address)
    return redirect(f"{address}?{urlencode({'saved': verdict})}")


def _find_image(project: Project, text: str | None) -> Image | None:
    number = parse_digits(text or "")
    return None if number is None else usable_images(project).filter(pk=number).first()


def _read_verdict(text: str | None) -> int:
    """Return the verdict; a number that is no verdict if the text is none."""
    return next((verdict for verdict, _, _ in VERDICTS if str(verdict) == text), len(VERDICTS))
