"""A project's photos: list them and add more."""

from django.contrib import messages
from django.db.models import Count, Q
from django.http import HttpRequest, HttpResponse, JsonResponse
from django.shortcuts import redirect, render
from django.urls import reverse
from django.views.decorators.http import require_http_methods, require_POST

from hits.domain.images.decoding import SUFFIXES
from hits.models import Image, Project
from hits.selectors.images.images import image_url
from hits.services.errors import BadFile, Refused, StorageFull
from hits.services.images.import_image import ImageDescription, import_image
from hits.services.images.manifests import COLUMNS, description_fields, parse_description, read_manifest
from hits.services.images.zip_import import request_zip_import
from hits.views.access import project_page
from hits.views.pages import get_page, section_context
from hits.views.users import signed_in_user

PER_PAGE = 60
UNPROCESSABLE, INSUFFICIENT_STORAGE = 422, 507
CHUNK_BYTES = 1 << 20


@require_http_methods(["GET", "HEAD", "POST"])
@project_page()
def project_images(request: HttpRequest, project: Project) -> HttpResponse:
    """Show the photos; add new ones one by one, so that a bad file does not affect the others."""
    problems: list[str] = []
    if request.method == "POST":
        problems, new, known = _import_files(request, project)
        if not problems:
            messages.success(request, _import_message(new, known))
            return redirect("project-images", project.slug)
        if new or known:
            messages.success(request, _import_message(new, known))
    return _render_photos(request, project, problems)


def _render_photos(request: HttpRequest, project: Project, problems: list[str]) -> HttpResponse:
    images = Image.objects.filter(project=project).select_related("duplicate_of")
    totals = images.aggregate(
        all=Count("id"),
        duplicates=Count("id", filter=Q(duplicate_of__isnull=False)),
        withdrawn=Count("id", filter=Q(taken_down_at__isnull=False)),
    )
    page = get_page(request, images.order_by("id"), PER_PAGE)
    context = section_context(project, "images") | {
        "page": page,
        "cards": [(image, image_url(image)) for image in page],
        "totals": totals,
        "problems": problems,
        "credit": request.POST.get("credit", ""),
        "licence": request.POST.get("licence", ""),
        "accept": ",".join(sorted(SUFFIXES)),
    }
    return render(request, "hits/images/images.html", context, status=400 if problems else 200)


def _import_files(request: HttpRequest, project: Project) -> tuple[list[str], int, int]:
    files = request.FILES.getlist("files")
    if not files:
        return ["Choose one or more files first."], 0, 0
    description = ImageDescription(
        credit=request.POST.get("credit", "")[:300], licence=request.POST.get("licence", "")[:120]
    )
    problems, new, known = [], 0, 0
    for file in files:
        try:
            _, created = import_image(
                project=project, name=str(file.name), data=file.read(), description=description
            )
        except BadFile as error:
            problems.append(str(error))
        else:
            new += created
            known += not created
    return problems, new, known


def _import_message(new: int, known: int) -> str:
    parts = [f"{new} new photo{'s' * (new != 1)} added."] if new or not known else []
    if known:
        parts.append(f"{known} existed already." if new else f"{known} of these files existed already.")
    return " ".join(parts)


@require_POST
@project_page()
def image_add(request: HttpRequest, project: Project) -> JsonResponse:
    """Add one photo with its description; the page's script sends one after the other.

    The same file is the same photo, so that an interrupted upload can be repeated.
    """
    file = request.FILES.get("file")
    if file is None:
        return JsonResponse({"error": "Choose a file first."}, status=400)
    name = str(file.name)
    try:
        description = parse_description(name, {key: request.POST.get(key, "").strip() for key in COLUMNS})
        image, created = import_image(project=project, name=name, data=file.read(), description=description)
    except StorageFull as error:
        return JsonResponse({"error": str(error)}, status=INSUFFICIENT_STORAGE)
    except BadFile as error:
        return JsonResponse({"error": str(error)}, status=UNPROCESSABLE)
    return JsonResponse({"image": image.pk, "new": created}, status=201 if created else 200)


@require_POST
@project_page()
def images_import_zip(request: HttpRequest, project: Project) -> HttpResponse:
    """Store a zip of photos and show the job that imports them; a script gets the job's address as JSON."""
    wants_json = "application/json" in request.headers.get("Accept", "")
    file = request.FILES.get("zip")
    try:
        if file is None:
            raise BadFile("Choose a zip first.")
        job = request_zip_import(
            project=project,
            by=signed_in_user(request),
            name=str(file.name),
            blocks=file.chunks(CHUNK_BYTES),
            credit=request.POST.get("credit", "")[:300],
            licence=request.POST.get("licence", "")[:120],
        )
    except Refused as error:
        if wants_json:
            full = isinstance(error, StorageFull)
            return JsonResponse({"error": str(error)}, status=INSUFFICIENT_STORAGE if full else UNPROCESSABLE)
        return _render_photos(request, project, [str(error)])
    address = reverse("job-detail", args=[job.pk])
    return JsonResponse({"job": job.pk, "address": address}) if wants_json else redirect(address)


@require_POST
@project_page()
def images_read_manifest(request: HttpRequest, project: Project) -> JsonResponse:
    """Check a manifest and return its fields by file name."""
    file = request.FILES.get("manifest")
    if file is None:
        return JsonResponse({"error": "Choose a CSV file first."}, status=400)
    try:
        rows = {
            name: {
                key: value
                for key, value in description_fields(description).items()
                if value not in {"", None}
            }
            for _, name, description in read_manifest(str(file.name), file.file)  # type: ignore[arg-type]
        }
    except BadFile as error:
        return JsonResponse({"error": str(error)}, status=UNPROCESSABLE)
    return JsonResponse({"rows": rows})
