"""Photo files on the HIT origin. No other file of the media folder is served."""

from pathlib import Path

from django.conf import settings
from django.contrib.auth.decorators import login_not_required
from django.http import FileResponse, Http404, HttpRequest, HttpResponse, HttpResponseBase
from django.utils.cache import get_conditional_response, patch_cache_control
from django.views.decorators.http import require_safe

from hits.models import Image

HTTP_GONE = 410
CACHE_SECONDS = 600  # browser cache only; short, so that photos taken down disappear there too


@login_not_required
@require_safe
def image_file(request: HttpRequest, path: str) -> HttpResponseBase:
    """Serve a photo while at least one project shows it; 410 after it was taken down in all.

    The reply has no time of the file, and If-Modified-Since is not compared with it: images of a task that were
    generated one after another would show their order. The ETag is the hash, which the address has too.
    """
    # The file name is the hash, and only the hash is indexed.
    rows = Image.objects.filter(sha256=Path(path).stem, file=path).values_list("taken_down_at", flat=True)
    states = list(rows)
    if not states:
        raise Http404("There is no such photo.")
    if None not in states:
        return HttpResponse(
            "This photo was taken down.", status=HTTP_GONE, content_type="text/plain; charset=utf-8"
        )
    etag = f'"{Path(path).stem}"'
    response = get_conditional_response(request, etag=etag) or _send(path)
    response.headers["ETag"] = etag
    patch_cache_control(response, private=True, max_age=CACHE_SECONDS)
    return response


def _send(path: str) -> FileResponse:
    try:
        return FileResponse((Path(settings.MEDIA_ROOT) / path).open("rb"))
    except FileNotFoundError as error:
        raise Http404("There is no such photo.") from error
