"""Photo files on the HIT origin. No other file of the media folder is served."""

from pathlib import Path

from django.conf import settings
from django.contrib.auth.decorators import login_not_required
from django.http import Http404, HttpRequest, HttpResponse, HttpResponseBase
from django.utils.cache import patch_cache_control
from django.views.decorators.http import require_safe
from django.views.static import serve

from hits.models import Image

HTTP_GONE = 410
CACHE_SECONDS = 600  # browser cache only; short, so that photos taken down disappear there too


@login_not_required
@require_safe
def image_file(request: HttpRequest, path: str) -> HttpResponseBase:
    """Serve a photo while at least one project shows it; 410 after it was taken down in all."""
    # The file name is the hash, and only the hash is indexed.
    rows = Image.objects.filter(sha256=Path(path).stem, file=path).values_list("taken_down_at", flat=True)
    states = list(rows)
    if not states:
        raise Http404("There is no such photo.")
    if None not in states:
        return HttpResponse(
            "This photo was taken down.", status=HTTP_GONE, content_type="text/plain; charset=utf-8"
        )
    response = serve(request, path, document_root=str(settings.MEDIA_ROOT))
    patch_cache_control(response, private=True, max_age=CACHE_SECONDS)
    return response
