"""One photo: edit its description, take it down, put it back."""

from django.contrib import messages
from django.http import HttpRequest, HttpResponse
from django.shortcuts import get_object_or_404, redirect, render
from django.views.decorators.http import require_http_methods, require_POST

from hits.forms.images import ImageForm
from hits.models import Image, Project
from hits.mturk.boto import marketplace
from hits.selectors.images.images import image_url
from hits.selectors.take_down import count_take_down_effects, image_events
from hits.services.images import import_image, take_down
from hits.views.access import project_page
from hits.views.pages import action_messages, section_context
from hits.views.users import signed_in_user

MAX_CHANGES_SHOWN = 20


@require_http_methods(["GET", "HEAD", "POST"])
@project_page()
def project_image(request: HttpRequest, project: Project, image_id: int) -> HttpResponse:
    """Show a photo; a POST changes its description."""
    image = get_object_or_404(Image, pk=image_id, project=project)
    form = ImageForm(request.POST or None, initial=ImageForm.initial_values(image))
    if request.method == "POST" and form.is_valid():
        changed = import_image.update_image_description(
            image=image, by=signed_in_user(request), **form.cleaned_data
        )
        messages.success(request, "Saved." if changed else "Nothing was changed.")
        return redirect("project-image", project.slug, image.pk)
    return _render_page(request, image, form, status=400 if form.errors else 200)


@require_POST
@project_page()
def image_take_down(request: HttpRequest, project: Project, image_id: int) -> HttpResponse:
    """Take a photo down and notify the workers who have it open."""
    image = get_object_or_404(Image, pk=image_id, project=project)
    with action_messages(request, "Not taken down"):
        ended = take_down.take_down_image(
            image=image, reason=request.POST.get("reason", ""), by=signed_in_user(request)
        )
        notified = take_down.notify_workers(image=image, marketplace=marketplace())
        done = f"{image.name} is taken down."
        if ended:
            done += f" {ended} open task{'' if ended == 1 else 's'} will end within a minute."
        if notified:
            done += f" {notified} worker{'' if notified == 1 else 's'} with an open task got a message."
        messages.success(request, done)
    return redirect("project-image", project.slug, image.pk)


@require_POST
@project_page()
def image_put_back(request: HttpRequest, project: Project, image_id: int) -> HttpResponse:
    """Put a photo back."""
    image = get_object_or_404(Image, pk=image_id, project=project)
    done = f"{image.name} is back. Extend its batches by days to offer its tasks again."
    with action_messages(request, "Not put back", done):
        take_down.put_back_image(
            image=image, reason=request.POST.get("reason", ""), by=signed_in_user(request)
        )
    return redirect("project-image", project.slug, image.pk)


def _render_page(request: HttpRequest, image: Image, form: ImageForm, status: int) -> HttpResponse:
    context = section_context(image.project, "images") | {
        "image": image,
        "url": image_url(image),
        "form": form,
        "counts": count_take_down_effects(image),
        "changes": image_events(image)[:MAX_CHANGES_SHOWN],
        "max_reason_length": take_down.MAX_REASON_LENGTH,
    }
    return render(request, "hits/images/image.html", context, status=status)
