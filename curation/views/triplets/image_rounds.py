"""Ask workers to pick images."""

from django.http import HttpRequest, HttpResponse
from django.views.decorators.http import require_http_methods

from curation.selectors.triplets.answers import pick_spec
from curation.services.triplets.pick_rounds import MAX_CANDIDATES, launch_image_picks, pick_sources
from curation.views.pages import triplet_project_page
from curation.views.triplets.images import TAB
from curation.views.triplets.launching import LaunchPage, TripletRoundForm, launch_in_steps
from curation.views.triplets.steps import count_words
from hits.models import Project


@require_http_methods(["GET", "HEAD", "POST"])
@triplet_project_page()
def image_pick_launch(request: HttpRequest, project: Project) -> HttpResponse:
    """Ask workers to pick an image for each role that has candidates and no pick."""
    roles = len(pick_sources(project))
    form = TripletRoundForm(project, pick_spec().name, "text", request.POST or None, who="Who can pick")
    form.fields["assignments"].help_text = "Different workers, never the author of the scene."
    page = LaunchPage(
        tab=TAB,
        back=("scene-image-list", "Images"),
        title="Ask workers to pick images",
        about=(
            "Workers see a text and its candidates, hypotheses beside the picked premise, and choose the best one or "
            "none. What more than half of them choose is picked."
        ),
        tasks="its tasks are",
        facts=(
            f"{count_words(roles, 'text')} with at least two candidates and no pick; the newest {MAX_CANDIDATES} "
            "candidates are shown.",
        ),
        blocked=None
        if roles
        else (
            "No image to pick",
            "Every role has a pick, waits for its premise, was asked about before, or has fewer than two candidates.",
        ),
    )
    return launch_in_steps(
        request,
        project,
        form,
        lambda launch: launch_image_picks(project=project, launch=launch)[0],
        lambda: roles,
        page,
    )
