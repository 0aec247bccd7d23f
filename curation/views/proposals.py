"""Pages of box proposals: start a run, show its coverage of pairs and its photos with boxes, and download it."""

from collections.abc import Sequence
from dataclasses import dataclass
from typing import Any

from django.contrib import messages
from django.http import HttpRequest, HttpResponse, StreamingHttpResponse
from django.shortcuts import redirect, render
from django.views.decorators.http import require_http_methods, require_POST, require_safe

from curation.features.encoder import is_hub_id
from curation.models import ImageProposals, Pair, ProposalOverlap, ProposalRun
from curation.proposals.detector import CLASSICAL, DEFAULT_LIMIT, DETECTOR_LABELS, HUGGING_FACE_PREFIX
from curation.proposals.overlap import PAPER_SOLVABLE, Recall
from curation.selectors import proposals as proposal_selectors
from curation.selectors.jobs import OVERLAPS, PROPOSALS, latest_job
from curation.services import proposals as services
from curation.versions.plan import image_url
from curation.views.fields import choice_field, integer_field, text_field
from curation.views.import_proposals import unbound_file_form
from curation.views.pages import as_download, tab_context
from curation.views.recall_charts import recall_chart, recall_spark
from curation.views.rule_labels import describe_options
from hits.charts.chart import Chart
from hits.domain.images.image_facts import ImageFacts
from hits.domain.states import OPEN_JOB_STATES
from hits.forms import PageForm
from hits.models import Project
from hits.selectors.images.images import image_facts
from hits.services.errors import Refused
from hits.views.access import project_page
from hits.views.pages import action_messages, get_or_404, get_page, job_if_open
from hits.views.users import signed_in_user

IMAGES_PER_PAGE = 12
RUNS_PER_PAGE = 25
DEPTHS = (10, 50, 100)
LETTERS_ACROSS = 26  # characters of a box label that would fit the photo's width
COLOURS = 5


class RunForm(PageForm):
    """The detector, and the number of boxes per photo."""

    detector = choice_field(
        "Detector",
        [
            ("classical", "Selective Search (no weights)"),
            ("model", "A detection model from the hub"),
        ],
    )
    model = text_field(
        "Model",
        "The model’s hub id, such as hustvl/yolos-tiny. On the command line, folders of weights can be given.",
        required=False,
        max_length=110,
    )
    limit = integer_field(
        "Boxes per photo",
        "Hessel et al. (2022) take 100.",
        low=1,
        high=services.MAX_BOXES,
        initial=DEFAULT_LIMIT,
    )

    def clean(self) -> dict[str, Any]:
        """Check that a model is named if needed."""
        given: dict[str, Any] = super().clean() or {}
        model = given.get("model", "")
        # The detector would take a name starting with a dot as a folder of the server.
        if given.get("detector") == "model" and not is_hub_id(model):
            self.add_error("model", "Enter the model’s hub id, owner/name.")
        return given

    @property
    def options(self) -> services.ProposalOptions:
        """The options; the form must be valid."""
        given = self.cleaned_data
        name = CLASSICAL if given["detector"] == "classical" else f"{HUGGING_FACE_PREFIX}{given['model']}"
        return services.ProposalOptions(detector=name, limit=given["limit"])


@dataclass(frozen=True, slots=True)
class ShownRun:
    """A run in lists."""

    run: ProposalRun
    recall: Recall | None
    recall_by_depth: Sequence[tuple[int, float | None]]
    spark: Chart | None

    @property
    def detector(self) -> str:
        """The detector's name on pages."""
        return DETECTOR_LABELS.get(self.run.detector, self.run.detector)

    @property
    def boxes_per_image(self) -> float | None:
        """Boxes per photo, on average."""
        return self.run.boxes / self.run.images if self.run.images else None


@dataclass(frozen=True, slots=True)
class BestBox:
    """The proposal that covers a pair best. Label position and size are in pixels of the photo."""

    box: Sequence[int]
    label: str
    x: float
    y: float
    width: float
    height: float
    text_x: float
    text_y: float
    text_size: float


@dataclass(frozen=True, slots=True)
class ShownPair:
    """A pair with its boxes and its best proposal (counted from 1)."""

    pair: Pair
    colour: int
    best_iou: float
    rank: int
    best_box: BestBox | None


@dataclass(frozen=True, slots=True)
class ShownImage:
    """A photo with all proposals as one path."""

    image: ImageFacts
    boxes_path: str
    box_count: int
    pairs: Sequence[ShownPair]


@require_http_methods(["GET", "HEAD", "POST"])
@project_page()
def proposals(request: HttpRequest, project: Project) -> HttpResponse:
    """List a project's runs; start one."""
    form = RunForm(request.POST if request.method == "POST" else None)
    if request.method == "POST" and form.is_valid():
        try:
            services.request_proposals(project=project, by=signed_in_user(request), options=form.options)
            messages.success(request, "The run is queued.")
            return redirect("curation-proposals", project.slug)
        except Refused as error:
            form.add_error(None, f"Not started: {error}.")
    page = get_page(request, proposal_selectors.proposal_runs(project), RUNS_PER_PAGE)
    rows = [_make_shown_run(run) for run in page]
    measured = next((row for row in rows if row.recall is not None and row.recall.pairs), None)
    job = latest_job(project, PROPOSALS)
    context = tab_context(project, "") | {
        "form": form,
        "page": page,
        "rows": rows,
        "depths": DEPTHS,
        "measured": measured,
        "chart": recall_chart(measured.recall) if measured and measured.recall else None,
        "images": _has_images(project),
        "job": job_if_open(job),
        "failed": job if job is not None and job.error else None,
        "paper_solvable": PAPER_SOLVABLE,
        "import_form": unbound_file_form(),
    }
    status = 400 if form.errors else 200
    return render(request, "curation/proposals/proposals.html", context, status=status)


@require_safe
@project_page()
def proposal_run(request: HttpRequest, project: Project, run_id: int) -> HttpResponse:
    """Show a run's figures and its photos, worst or best covered first."""
    run = _get_run(project, run_id)
    row = _make_shown_run(run)
    is_best = request.GET.get("order") == proposal_selectors.BEST
    order = proposal_selectors.BEST if is_best else proposal_selectors.WORST
    page = get_page(request, proposal_selectors.proposals_by_coverage(run, order), IMAGES_PER_PAGE)
    jobs = [latest_job(project, task) for task in (PROPOSALS, OVERLAPS)]
    run_jobs = [job for job in jobs if job is not None and job.args.get("run") == run.pk]
    context = tab_context(project, "") | {
        "run": run,
        "row": row,
        "recall": row.recall,
        "chart": recall_chart(row.recall) if row.recall and row.recall.pairs else None,
        "table": _recall_table(row.recall),
        "depths": DEPTHS,
        "order": order,
        "page": page,
        "views": [_make_shown_image(found) for found in page],
        "unmeasured": proposal_selectors.count_unmeasured_pairs(run) if run.is_complete else 0,
        "options": describe_options({k: value for k, value in run.options.items() if k != "detector"}),
        "jobs": [job for job in run_jobs if job.state in OPEN_JOB_STATES],
        "failed": next((job for job in run_jobs if job.error), None),
        "paper_solvable": PAPER_SOLVABLE,
    }
    return render(request, "curation/proposals/proposals_run.html", context)


@require_POST
@project_page()
def measure_run(request: HttpRequest, project: Project, run_id: int) -> HttpResponse:
    """Queue measuring a run against the currently accepted pairs."""
    run = _get_run(project, run_id)
    with action_messages(request, "Not started", "The measurement is queued."):
        services.request_proposals_measurement(run=run, by=signed_in_user(request))
    return redirect("curation-proposals-run", project.slug, run.pk)


@require_safe
@project_page()
def download_boxes(request: HttpRequest, project: Project, run_id: int) -> StreamingHttpResponse:
    """Download a run in the published layout: boxes by image address."""
    run = _get_run(project, run_id)
    mark = "-rehearsal" if project.is_rehearsal else ""
    lines = proposal_selectors.stream_boxes_json(run, image_url)
    reply = StreamingHttpResponse(lines, content_type="application/json")
    return as_download(reply, f"{project.slug}-image_url2auto_bboxes-run{run.pk}{mark}.json")


def _get_run(project: Project, run_id: int) -> ProposalRun:
    runs = proposal_selectors.proposal_runs(project).select_related("project")
    return get_or_404(runs.filter(pk=run_id).first())


def _has_images(project: Project) -> bool:
    return project.images.filter(taken_down_at__isnull=True).exists()


def _make_shown_run(run: ProposalRun) -> ShownRun:
    recall = proposal_selectors.read_recall(run)
    if recall is None or not recall.pairs:
        return ShownRun(run, recall, [(depth, None) for depth in DEPTHS], None)
    over = min(recall.curves)
    depths = [(depth, recall.share_covered(depth, over)) for depth in DEPTHS]
    return ShownRun(run, recall, depths, recall_spark(recall.curves[over]))


def _recall_table(recall: Recall | None) -> list[tuple[float, list[float | None]]]:
    """Return recall by threshold and number of proposals."""
    if recall is None or not recall.pairs:
        return []
    return [(over, [recall.share_covered(depth, over) for depth in DEPTHS]) for over in recall.curves]


def _make_shown_image(found: ImageProposals) -> ShownImage:
    image = image_facts(found.image)
    overlaps = enumerate(found.overlaps.all(), start=1)
    pairs = [_make_shown_pair(number, overlap, found.boxes, image) for number, overlap in overlaps]
    path = "".join(f"M{box[0]} {box[1]}h{box[2]}v{box[3]}h-{box[2]}z" for box in found.boxes)
    return ShownImage(image, path, len(found.boxes), pairs)


def _make_shown_pair(
    number: int, overlap: ProposalOverlap, boxes: Sequence[Sequence[Any]], image: ImageFacts
) -> ShownPair:
    pair = overlap.observation
    index = overlap.ious.index(overlap.best) if overlap.ious else 0
    marked = _place_best_box(boxes[index], str(number), image) if overlap.best else None
    return ShownPair(pair, (pair.index - 1) % COLOURS + 1, overlap.best, index + 1, marked)


def _place_best_box(box: Sequence[Any], label: str, image: ImageFacts) -> BestBox:
    """Place the label at the lower right corner of the box, inside the photo."""
    letter_width = image.width / LETTERS_ACROSS
    width, height = 1.8 * letter_width, 1.4 * letter_width
    right, bottom = box[0] + box[2], box[1] + box[3]
    x, y = max(0.0, right - width), max(0.0, bottom - height)
    return BestBox(
        box=[int(side) for side in box[:4]],
        label=label,
        x=round(x, 1),
        y=round(y, 1),
        width=round(width, 1),
        height=round(height, 1),
        text_x=round(x + width / 2, 1),
        text_y=round(y + height * 0.76, 1),
        text_size=round(letter_width, 1),
    )
