"""Pages of detected objects: start a run, its figures and photos, and the objects of one photo."""

from collections.abc import Sequence
from dataclasses import dataclass
from typing import Any

from django.contrib import messages
from django.http import HttpRequest, HttpResponse
from django.shortcuts import redirect, render
from django.views.decorators.http import require_http_methods, require_safe

from curation.features.encoder import is_hub_id
from curation.interest.rules import MIN_OBJECTS, MIN_PEOPLE, MIN_SCORE
from curation.models import DetectionRun
from curation.proposals.detector import DEFAULT_LIMIT, HUGGING_FACE_PREFIX, SEGMENTATION_PREFIX
from curation.selectors import objects as selectors
from curation.selectors.jobs import DETECT_OBJECTS, latest_job
from curation.services import objects as services
from curation.services.proposals import MAX_BOXES
from curation.views.fields import choice_field, float_field, integer_field, text_field
from curation.views.pages import tab_context
from curation.views.rule_labels import describe_options
from curation.views.shown_objects import show_photo
from hits.charts.chart import Chart
from hits.charts.histograms import bar_chart
from hits.charts.strips import share_strip
from hits.forms import PageForm
from hits.models import Project
from hits.services.errors import Refused
from hits.views.access import project_page
from hits.views.pages import get_or_404, get_page, job_if_failed, job_if_open
from hits.views.users import signed_in_user

RUNS_PER_PAGE = 25
IMAGES_PER_PAGE = 12
CLASSES_SHOWN = 20


class DetectionForm(PageForm):
    """The model, and which of its objects are kept."""

    kind = choice_field(
        "Kind of model",
        [
            (SEGMENTATION_PREFIX, "Instance segmentation (outlines)"),
            (HUGGING_FACE_PREFIX, "Object detection (boxes)"),
        ],
    )
    model = text_field(
        "Model",
        "The model’s hub id, such as facebook/mask2former-swin-tiny-coco-instance. On the command line, folders of "
        "weights can be given.",
        max_length=110,
    )
    min_score = float_field(
        "Minimum score", "Zellers et al. (2019) use 0.7.", low=0, high=1, initial=MIN_SCORE
    )
    limit = integer_field("Objects per photo", low=1, high=MAX_BOXES, initial=DEFAULT_LIMIT)

    def clean_model(self) -> str:
        """Check that the model is a hub id: a name starting with a dot would be a folder of the server."""
        model = str(self.cleaned_data["model"])
        if not is_hub_id(model):
            self.add_error("model", "Enter the model’s hub id, owner/name.")
        return model

    @property
    def options(self) -> services.DetectionOptions:
        """The options; the form must be valid."""
        given = self.cleaned_data
        return services.DetectionOptions(
            detector=f"{given['kind']}{given['model']}", min_score=given["min_score"], limit=given["limit"]
        )


@dataclass(frozen=True, slots=True)
class ClassRow:
    """A class with its number of objects; ``strip`` compares it with the most frequent class."""

    name: str
    count: int
    strip: Chart


@require_http_methods(["GET", "HEAD", "POST"])
@project_page()
def object_runs(request: HttpRequest, project: Project) -> HttpResponse:
    """List a project's runs; a POST starts one."""
    form = DetectionForm(request.POST if request.method == "POST" else None)
    if request.method == "POST" and form.is_valid():
        try:
            services.request_detection(project=project, by=signed_in_user(request), options=form.options)
            messages.success(request, "The detection of objects is queued.")
            return redirect("object-runs", project.slug)
        except Refused as error:
            form.add_error(None, f"Not started: {error}.")
    job = latest_job(project, DETECT_OBJECTS)
    context = tab_context(project, "objects") | {
        "form": form,
        "page": get_page(request, selectors.detection_runs(project), RUNS_PER_PAGE),
        "images": project.images.filter(taken_down_at__isnull=True).exists(),
        "job": job_if_open(job),
        "failed": job_if_failed(job),
    }
    return render(request, "curation/objects/runs.html", context, status=400 if form.errors else 200)


@require_safe
@project_page()
def object_run(request: HttpRequest, project: Project, run_id: int) -> HttpResponse:
    """Show a run's counts by class and its photos, those with most people first."""
    run = get_or_404(selectors.detection_runs(project).filter(pk=run_id).first())
    page = get_page(request, selectors.object_sets_of_run(run), IMAGES_PER_PAGE)
    totals = selectors.count_images_by_objects(run)
    context = tab_context(project, "objects") | {
        "run": run,
        "page": page,
        "photos": [show_photo(found) for found in page],
        "classes": _class_rows(run),
        "other_classes": max(0, len(run.figures.get("classes", {})) - CLASSES_SHOWN),
        "plot": _objects_chart(totals.by_objects),
        "meeting_rules": totals.meeting_rules,
        "counted": totals.images,
        "min_objects": MIN_OBJECTS,
        "min_people": MIN_PEOPLE,
        "options": describe_options(_shown_options(run)),
    }
    return render(request, "curation/objects/run.html", context)


@require_safe
@project_page()
def image_objects(request: HttpRequest, project: Project, image_id: int) -> HttpResponse:
    """Show one photo with its numbered objects: those of the newest list, or of the one that is asked for."""
    lists = list(selectors.object_sets_of_image(project, image_id))
    requested = request.GET.get("list", "")
    found = get_or_404(next((row for row in lists if requested in {"", str(row.pk)}), None))
    context = tab_context(project, "objects") | {
        "photo": show_photo(found),
        "found": found,
        "lists": lists,
        "newest": lists[0],
    }
    return render(request, "curation/objects/image.html", context)


def _class_rows(run: DetectionRun) -> list[ClassRow]:
    classes: dict[str, int] = run.figures.get("classes", {})
    ordered = sorted(classes.items(), key=lambda item: (-item[1], item[0]))[:CLASSES_SHOWN]
    return [
        ClassRow(name, count, share_strip(count / ordered[0][1], summary=f"{count} {name}"))
        for name, count in ordered
    ]


def _objects_chart(counts: Sequence[int]) -> Chart | None:
    return bar_chart(
        counts,
        summary="Photos by number of objects",
        x_label="objects in a photo; the last bar includes all with more",
        unit="Photos",
        threshold=MIN_OBJECTS,
        threshold_label=f"minimum: {MIN_OBJECTS}",
    )


def _shown_options(run: DetectionRun) -> dict[str, Any]:
    options = {
        name: value for name, value in run.options.items() if name not in {"detector", "job", "within"}
    }
    if "person_labels" in options:
        options["person_labels"] = ", ".join(options["person_labels"])
    return options
