"""A project's photographs: look through them, add more."""

from django.contrib import messages
from django.core.paginator import Paginator
from django.db.models import Count, Q
from django.http import HttpRequest, HttpResponse, JsonResponse
from django.shortcuts import redirect, render
from django.urls import reverse
from django.views.decorators.http import require_http_methods, require_POST

from hits.models import Image, Project
from hits.selectors.images.images import image_url
from hits.services.errors import BadFile, NoRoom, Refused
from hits.services.images.import_image import SUFFIXES, Description, import_image
from hits.services.images.manifests import COLUMNS, described, fields_of, read_manifest
from hits.services.images.zip_import import request_zip_import
from hits.views.access import project_page
from hits.views.who import person

PER_PAGE = 60
UNPROCESSABLE, INSUFFICIENT_STORAGE = 422, 507
BLOCK = 1 << 20


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
    return _photos(request, project, problems)


def _photos(request: HttpRequest, project: Project, problems: list[str]) -> HttpResponse:
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
        "credit": request.POST.get("credit", ""),
        "licence": request.POST.get("licence", ""),
        "accept": ",".join(sorted(SUFFIXES)),
    }
    return render(request, "hits/images/images.html", context, status=400 if problems else 200)


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


@require_POST
@project_page()
def image_add(request: HttpRequest, project: Project) -> JsonResponse:
    """Take one photo in, with what is said about it; the page's queue sends one after the other.

    The same file again is the same photo, so that whatever was interrupted can be sent again.
    """
    file = request.FILES.get("file")
    if file is None:
        return JsonResponse({"error": "Choose a file first."}, status=400)
    name = str(file.name)
    try:
        about = described(name, {key: request.POST.get(key, "").strip() for key in COLUMNS})
        image, created = import_image(project=project, name=name, data=file.read(), about=about)
    except NoRoom as error:
        return JsonResponse({"error": str(error)}, status=INSUFFICIENT_STORAGE)
    except BadFile as error:
        return JsonResponse({"error": str(error)}, status=UNPROCESSABLE)
    return JsonResponse({"image": image.pk, "new": created}, status=201 if created else 200)


@require_POST
@project_page()
def images_zip(request: HttpRequest, project: Project) -> HttpResponse:
    """Keep a zip of photos, and show the job that takes them in; a script is told the job's address instead."""
    wants_json = "application/json" in request.headers.get("Accept", "")
    file = request.FILES.get("zip")
    try:
        if file is None:
            raise BadFile("Choose a zip first.")
        job = request_zip_import(
            project=project,
            by=person(request),
            name=str(file.name),
            blocks=file.chunks(BLOCK),
            credit=request.POST.get("credit", "")[:300],
            licence=request.POST.get("licence", "")[:120],
        )
    except Refused as error:
        if wants_json:
            full = isinstance(error, NoRoom)
            return JsonResponse({"error": str(error)}, status=INSUFFICIENT_STORAGE if full else UNPROCESSABLE)
        return _photos(request, project, [str(error)])
    address = reverse("job-detail", args=[job.pk])
    return JsonResponse({"job": job.pk, "address": address}) if wants_json else redirect(address)


@require_POST
@project_page()
def images_manifest(request: HttpRequest, project: Project) -> JsonResponse:
    """Check a manifest, and return what it says of each photo by the name of its file."""
    file = request.FILES.get("manifest")
    if file is None:
        return JsonResponse({"error": "Choose a CSV file first."}, status=400)
    try:
        rows = {
            name: {key: value for key, value in fields_of(about).items() if value not in {"", None}}
            for _, name, about in read_manifest(str(file.name), file.file)  # type: ignore[arg-type]
        }
    except BadFile as error:
        return JsonResponse({"error": str(error)}, status=UNPROCESSABLE)
    return JsonResponse({"rows": rows})
