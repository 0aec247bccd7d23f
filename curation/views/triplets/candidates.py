"""One candidate image with its origin, and one more that is drawn from it."""

from django.contrib import messages
from django.http import HttpRequest, HttpResponse
from django.shortcuts import redirect, render
from django.urls import reverse
from django.views.decorators.http import require_http_methods, require_POST

from curation.models import GeneratedImage
from curation.selectors.triplets.images import hidden_images, scene_images
from curation.services.triplets.generation import request_edit
from curation.services.triplets.image_estimates import edit_price
from curation.services.triplets.images import release_image
from curation.views.pages import tab_context, triplet_project_page
from curation.views.triplets.image_forms import WAY_LABELS, EditForm, add_refusal
from curation.views.triplets.image_parts import ROLE_LABELS, provenance_facts
from curation.views.triplets.images import TAB
from hits.models import Project
from hits.selectors.images.images import image_facts
from hits.services.errors import Refused
from hits.views.pages import action_messages, get_or_404
from hits.views.users import signed_in_user


def find_candidate_or_404(project: Project, candidate_id: int) -> GeneratedImage:
    """Return a candidate of the project whose image was not taken down, or raise Http404."""
    rows = GeneratedImage.objects.select_related("scene__project", "image", "parent", "run", "prompt_set")
    found = get_or_404(
        rows.filter(scene__project=project, pk=candidate_id).first(), "There is no such image."
    )
    return get_or_404(
        found if found.image.taken_down_at is None else None, "This image was taken down; nobody may use it."
    )


@require_http_methods(["GET", "HEAD", "POST"])
@triplet_project_page()
def scene_image(request: HttpRequest, project: Project, candidate_id: int) -> HttpResponse:
    """Show a candidate with its origin; draw one more from it."""
    image = find_candidate_or_404(project, candidate_id)
    prices = [(way, _price_or_none(image, way)) for way in WAY_LABELS]
    posted = request.POST if request.method == "POST" else None
    way = request.GET.get("way", "")
    initial = {"way": way} if way in WAY_LABELS else {}
    form = EditForm(image, posted, price=max((price or 0 for _, price in prices), default=0), initial=initial)
    if posted is not None and form.is_valid():
        try:
            request_edit(image=image, options=form.options, by=signed_in_user(request))
        except Refused as error:
            add_refusal(form, error)
        else:
            messages.success(request, f"One image from candidate {image.number}: queued.")
            address = reverse("scene-images", args=[project.slug, image.scene_id])
            return redirect(f"{address}#role-{image.role}")
    context = tab_context(project, TAB, "triplets") | {
        "image": image,
        "scene": image.scene,
        "label": ROLE_LABELS[image.role],
        "shown": image_facts(image.image),
        "form": form,
        "ways": [(way, WAY_LABELS[way], price) for way, price in prices],
        "facts": provenance_facts(image, scene_images([image.scene])[image.scene_id]),
        "releases": image.releases.select_related("by"),
        "is_hidden": bool(hidden_images([image])),
        "mask": [{"obs": 1, **box} for box in image.mask],
    }
    status = 400 if form.errors else 200
    return render(request, "curation/triplets/images/candidate.html", context, status=status)


def _price_or_none(image: GeneratedImage, way: str) -> int | None:
    try:
        return edit_price(image, way)
    except Refused:
        return None


@require_POST
@triplet_project_page()
def scene_image_release(request: HttpRequest, project: Project, candidate_id: int) -> HttpResponse:
    """Show a flagged candidate to everybody, or keep it hidden."""
    image = find_candidate_or_404(project, candidate_id)
    is_safe = request.POST.get("safe") == "yes"
    done = "The image is shown." if is_safe else "The image stays hidden."
    with action_messages(request, "Not stored", done):
        release_image(
            image=image, is_safe=is_safe, by=signed_in_user(request), note=request.POST.get("note", "")
        )
    address = reverse("scene-images", args=[project.slug, image.scene_id])
    return redirect(f"{address}#role-{image.role}")
