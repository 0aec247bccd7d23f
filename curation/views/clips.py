"""Pages of film clips: extract frames, see each clip's frames, take a clip down, and put it back."""

from collections.abc import Sequence
from dataclasses import dataclass
from typing import Any

from django.contrib import messages
from django.http import HttpRequest, HttpResponse
from django.shortcuts import redirect, render
from django.views.decorators.http import require_http_methods, require_POST, require_safe

from curation.models import Clip, Frame
from curation.selectors import clips as selectors
from curation.selectors.jobs import EXTRACT_FRAMES, latest_job
from curation.services import frames as services
from curation.views.clip_forms import ExtractionForm
from curation.views.pages import tab_context
from curation.views.source_forms import ImportFolderContents, read_import_folder
from hits.charts.chart import Bar, Chart
from hits.charts.histograms import histogram
from hits.charts.scale import Scale
from hits.domain.binning import bin_counts
from hits.domain.images.image_facts import ImageFacts
from hits.domain.quantiles import quantile
from hits.models import Project
from hits.mturk.boto import marketplace
from hits.selectors.images.images import image_facts
from hits.services.errors import Refused
from hits.services.images import take_down
from hits.views.access import project_page
from hits.views.pages import action_messages, get_or_404, get_page, job_if_failed, job_if_open
from hits.views.users import signed_in_user

CLIPS_PER_PAGE = 30
FRAMES_PER_PAGE = 48
MAX_SHOTS_DRAWN = 400  # more would be thinner than a pixel
TIMELINE_HEIGHT = 28  # pixels


@dataclass(frozen=True, slots=True)
class ShownFrame:
    """A frame on a contact sheet."""

    frame: Frame
    image: ImageFacts
    seconds: float


@require_http_methods(["GET", "HEAD", "POST"])
@project_page()
def clip_list(request: HttpRequest, project: Project) -> HttpResponse:
    """List a project's clips; a POST queues the extraction of frames."""
    import_folder = read_import_folder()
    form = _make_form(request, import_folder)
    if request.method == "POST" and form is not None and form.is_valid():
        try:
            services.request_extraction(
                project=project, spec=form.cleaned_data["spec"], by=signed_in_user(request)
            )
            messages.success(request, "The extraction of frames is queued.")
            return redirect("clips", project.slug)
        except Refused as error:
            form.add_error(None, f"Not started: {error}.")
    movies = selectors.movie_names(project)
    movie = request.GET.get("film", "")
    job = latest_job(project, EXTRACT_FRAMES)
    seconds = selectors.shot_seconds(project)
    page = get_page(request, selectors.clips_of_project(project, movie), CLIPS_PER_PAGE)
    counts = selectors.frame_counts(list(page))
    context = tab_context(project, "sources") | {
        "page": page,
        "rows": [(clip, counts[clip.pk]) for clip in page],
        "movies": movies,
        "movie": movie if movie in movies else "",
        "form": form,
        "import_folder": import_folder,
        "job": job_if_open(job),
        "failed": job_if_failed(job),
        "plot": _shot_chart(seconds),
        "shots": len(seconds),
        "is_cut": len(seconds) == selectors.MAX_SHOTS,
        "command": f"manage.py extract_frames CLIP_OR_FOLDER --project {project.slug} --licence LICENCE "
        "--source SOURCE --movie FILM",
    }
    status = 400 if form is not None and form.errors else 200
    return render(request, "curation/sources/clips.html", context, status=status)


@require_safe
@project_page()
def clip_detail(request: HttpRequest, project: Project, clip_id: int) -> HttpResponse:
    """Show a clip's frames with their times and captions."""
    clip = _get_clip(project, clip_id)
    page = get_page(request, selectors.frames_of_clip(clip), FRAMES_PER_PAGE)
    frames = list(selectors.frames_of_clip(clip)[:MAX_SHOTS_DRAWN])
    context = tab_context(project, "sources") | {
        "clip": clip,
        "counts": selectors.frame_counts([clip])[clip.pk],
        "page": page,
        "frames": [_shown_frame(frame) for frame in page],
        "timeline": _timeline(clip, frames),
        "is_timeline_cut": page.paginator.count > MAX_SHOTS_DRAWN,
        "max_reason_length": take_down.MAX_REASON_LENGTH,
    }
    return render(request, "curation/sources/clip.html", context)


@require_POST
@project_page()
def clip_take_down(request: HttpRequest, project: Project, clip_id: int) -> HttpResponse:
    """Take a clip down with its frames, and notify the workers who have one of them open."""
    clip = _get_clip(project, clip_id)
    with action_messages(request, "Not taken down"):
        images = services.take_down_clip(
            clip=clip, reason=request.POST.get("reason", ""), by=signed_in_user(request)
        )
        notified = sum(take_down.notify_workers(image=image, marketplace=marketplace()) for image in images)
        done = f"{clip} is taken down with {len(images)} frame{'' if len(images) == 1 else 's'}."
        if notified:
            done += f" {notified} message{'' if notified == 1 else 's'} went to workers with an open task."
        messages.success(request, done)
    return redirect("clip", project.slug, clip.pk)


@require_POST
@project_page()
def clip_put_back(request: HttpRequest, project: Project, clip_id: int) -> HttpResponse:
    """Put a clip back with the frames that were taken down with it."""
    clip = _get_clip(project, clip_id)
    done = f"{clip} is back. Extend its batches by days to offer its tasks again."
    with action_messages(request, "Not put back", done):
        services.put_back_clip(clip=clip, reason=request.POST.get("reason", ""), by=signed_in_user(request))
    return redirect("clip", project.slug, clip.pk)


def _make_form(request: HttpRequest, import_folder: ImportFolderContents) -> ExtractionForm | None:
    if import_folder.root is None:
        return None
    return ExtractionForm(import_folder, request.POST if request.method == "POST" else None)


def _get_clip(project: Project, clip_id: int) -> Clip:
    return get_or_404(selectors.clips_of_project(project).filter(pk=clip_id).first())


def _shown_frame(frame: Frame) -> ShownFrame:
    return ShownFrame(frame, image_facts(frame.image), frame.end_seconds - frame.start_seconds)


def _shot_chart(seconds: list[float]) -> Chart | None:
    """Return the lengths of all shots with their median."""
    if not seconds:
        return None
    median = quantile(seconds, 0.5)
    references: list[Any] = [(median, f"median {median:.1f} s", "mark")]
    return histogram(bin_counts(seconds), references=references, unit="s", summary="Shots by length")


def _timeline(clip: Clip, frames: Sequence[Frame]) -> Chart | None:
    """Return a clip's shots on its time line; neighbours have different shades."""
    if not frames:
        return None
    scale = Scale(0.0, max(float(clip.facts.get("seconds", 0.0)), frames[-1].end_seconds))
    bars = [
        Bar(
            scale.x(frame.start_seconds),
            "0",
            scale.width(frame.start_seconds, frame.end_seconds),
            str(TIMELINE_HEIGHT),
            f"Shot {frame.shot}: {frame.start_seconds:.2f} to {frame.end_seconds:.2f} s",
            f"shade-{1 + 2 * (frame.shot % 2)}",
        )
        for frame in frames
    ]
    summary = f"{len(frames)} shots on the time line of the clip"
    return Chart(summary, TIMELINE_HEIGHT, kind="stacked", is_strip=True, bars=bars)
