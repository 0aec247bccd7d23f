"""Feature sets: the list of stored vectors, and a form that makes more."""

from typing import Any

from django.contrib import messages
from django.http import HttpRequest, HttpResponse
from django.shortcuts import redirect, render
from django.views.decorators.http import require_http_methods

from curation.features.encoder import DEFAULT_ENCODER, POOLED_ENCODER
from curation.models import FeatureSet
from curation.selectors.features import feature_sets, used_encoders
from curation.selectors.images import available_images
from curation.selectors.jobs import FEATURES, latest_job
from curation.selectors.pairs import accepted_pairs
from curation.selectors.scorers import SCORER_PREFIX, scorer_encoder_choices
from curation.services.features import FeatureOptions, request_features
from curation.views.fields import choice_field
from curation.views.pages import tab_context
from hits.domain.states import OPEN_JOB_STATES
from hits.forms import PageForm
from hits.models import Job, Project
from hits.services.errors import Refused
from hits.views.access import project_page
from hits.views.pages import job_if_failed
from hits.views.users import signed_in_user

FOLDER_HELP = "On the command line, the encoder can also be a folder of weights: clip:FOLDER."
PUBLISHED_CLIP = "clip:openai/clip-vit-base-patch32"
SUBJECT_LABELS = {
    "images": "Photos",
    "regions:highlight": "Regions, highlighted on the photo",
    "regions:hide": "Regions, hidden in the photo",
    "regions:only_region": "Regions only, the rest hidden",
    "regions:position_only": "Regions, position and shape only",
    "regions:none": "Photos of pairs, unmarked",
    "texts:inference": "Inferences",
    "texts:clue": "Clues",
}
ENCODER_LABELS = {
    DEFAULT_ENCODER: "label-sentence: photos and texts, not CLIP",
    POOLED_ENCODER: "efficientnet-lite0: photos only, for near-duplicates",
    PUBLISHED_CLIP: "CLIP ViT-B/32, fetched from the Hugging Face hub",
}
PRECISION_LABELS = {"auto": "bf16 if supported", "fp32": "fp32", "bf16": "bf16"}
CROP_LABELS = {
    "two_squares": "Two squares, averaged",
    "centre": "Centre crop, as in CLIP’s training",
    "pad": "Padded to a square",
}
STATE_BADGES = {
    "complete": ("badge--ok", "Complete"),
    "making": ("badge--info", "Being made"),
    "stopped": ("badge--warn", "Not complete"),
    "lost": ("badge--bad", "Files are missing"),
}


class FeaturesForm(PageForm):
    """A request for a feature set. Folders of weights can only be given on the command line."""

    subject = choice_field("What is encoded", SUBJECT_LABELS)
    encoder = choice_field("Encoder", help_text=FOLDER_HELP)
    precision = choice_field(
        "Precision", PRECISION_LABELS, "For CLIP. Feature sets made with different precision are kept apart."
    )
    crop = choice_field("Non-square photos", CROP_LABELS, "For CLIP; a scorer has its own setting.")

    def __init__(self, project: Project, *args: Any, **kwargs: Any) -> None:
        super().__init__(*args, **kwargs)
        own = scorer_encoder_choices(project)
        used = used_encoders(project)
        used = [n for n in used if n not in ENCODER_LABELS and not n.startswith(SCORER_PREFIX)]
        choices = [*ENCODER_LABELS.items(), *own.items(), *((name, name) for name in used)]
        self.fields["encoder"].choices = choices  # type: ignore[attr-defined]

    def clean(self) -> dict[str, Any]:
        """Check combinations of options with the service."""
        cleaned: dict[str, Any] = super().clean() or {}
        if not self.errors:
            subject, _, which = cleaned["subject"].partition(":")
            try:
                cleaned["options"] = FeatureOptions(
                    subject=subject,
                    region_mode=which if subject == "regions" else "",
                    text=which if subject == "texts" else "",
                    encoder=cleaned["encoder"],
                    precision=cleaned["precision"],
                    crop=cleaned["crop"],
                )
            except Refused as error:
                self.add_error("encoder", f"{str(error).partition(': ')[2]}.")
        return cleaned


@require_http_methods(["GET", "HEAD", "POST"])
@project_page()
def feature_list(request: HttpRequest, project: Project) -> HttpResponse:
    """Show the project's feature sets; queue a new one."""
    form = FeaturesForm(project, request.POST if request.method == "POST" else None, auto_id="features_%s")
    if request.method == "POST" and form.is_valid():
        options = form.cleaned_data["options"]
        try:
            request_features(project=project, by=signed_in_user(request), options=options)
        except Refused as error:
            form.add_error(None, f"Not started: {error}.")
        else:
            messages.success(request, "The features are queued; each shard is a step of the job.")
            return redirect("curation-features", project.slug)
    status = 400 if form.errors else 200
    return render(request, "curation/features/features.html", _list_context(project, form), status=status)


def _list_context(project: Project, form: FeaturesForm) -> dict[str, Any]:
    sets = feature_sets(project)
    running = Job.objects.filter(project=project, task=FEATURES, state__in=OPEN_JOB_STATES)
    latest = latest_job(project, FEATURES)
    return tab_context(project, "features") | {
        "form": form,
        "jobs": list(running),
        "failed": job_if_failed(latest),
        "sets": [(found, _subject_label(found.row), *STATE_BADGES[found.state]) for found in sets],
        "bytes": sum(found.bytes for found in sets),
        "images": len(available_images(project)),
        "pairs": accepted_pairs(project).count(),
    }


def _subject_label(row: FeatureSet) -> str:
    return SUBJECT_LABELS.get(f"{row.subject}:{row.region_mode}".rstrip(":"), row.subject.capitalize())
