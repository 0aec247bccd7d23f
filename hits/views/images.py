"""A project's photographs: look through them, add more."""

from django.contrib import messages
from django.core.paginator import Paginator
from django.db.models import Count, Q
from django.http import HttpRequest, HttpResponse
from django.shortcuts import redirect, render
from django.views.decorators.http import require_http_methods

from hits.models import Image, Project
from hits.selectors.images import image_url
from hits.services.errors import BadFile
from hits.services.images import SUFFIXES, Description, import_image
from hits.views.access import project_page

PER_PAGE = 60


@require_http_methods(["GET", "HEAD", "POST"])
@project_page()
def project_images(request: HttpRequest, project: Project) -> HttpResponse:
    """Show the photos; take new ones in, one by one, so that one bad file spoils no other."""
    problems: list[str] = []
    if request.method == "POST":
        problems, new, known = _import(request, project)
        if not problems:
            messages.success(request, _sentence(new, known))
            return redirect("project-images", project.slug)
        if new or known:
            messages.success(request, _sentence(new, known))
    images = Image.objects.filter(project=project).select_related("duplicate_of")
    totals = images.aggregate(
        all=Count("id"),
        duplicates=Count("id", filter=Q(duplicate_of__isnull=False)),
        withdrawn=Count("id", filter=Q(withdrawn_at__isnull=False)),
    )
    page = Paginator(images.order_by("id"), PER_PAGE).get_page(request.GET.get("page"))
    context = {
        "project": project,
        "section": "images",
        "page": page,
        "cards": [(image, image_url(image)) for image in page],
        "totals": totals,
        "problems": problems,
        "accept": ",".join(sorted(SUFFIXES)),
    }
    return render(request, "hits/images.html", context, status=400 if problems else 200)


def _import(request: HttpRequest, project: Project) -> tuple[list[str], int, int]:
    files = request.FILES.getlist("files")
    if not files:
        return ["Choose one or more files first."], 0, 0
    about = Description(
        credit=request.POST.get("credit", "")[:300], licence=request.POST.get("licence", "")[:120]
    )
    problems, new, known = [], 0, 0
    for file in files:
        try:
            _, created = import_image(project=project, name=str(file.name), data=file.read(), about=about)
        except BadFile as error:
            problems.append(str(error))
        else:
            new += created
            known += not created
    return problems, new, known


def _sentence(new: int, known: int) -> str:
    parts = [f"{new} new photo{'s' * (new != 1)} added."] if new or not known else []
    if known:
        parts.append(f"{known} stood here already." if new else f"{known} of these files stood here already.")
    return " ".join(parts)
