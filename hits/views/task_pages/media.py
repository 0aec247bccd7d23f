"""Photo files, on the HIT origin. Whatever else lies in the media folder is never served."""

from pathlib import Path

from django.conf import settings
from django.contrib.auth.decorators import login_not_required
from django.http import Http404, HttpRequest, HttpResponse, HttpResponseBase
from django.utils.cache import patch_cache_control
from django.views.decorators.http import require_safe
from django.views.static import serve

from hits.models import Image

GONE = 410
KEPT_SECONDS = 600  # in the browser alone, so that a photo that is taken down soon vanishes there too


@login_not_required
@require_safe
def image_file(request: HttpRequest, path: str) -> HttpResponseBase:
    """Send a photo's file while a project shows it; 410 once it was taken down everywhere."""
    # The hash is the file's name; only it is indexed.
    rows = Image.objects.filter(sha256=Path(path).stem, file=path).values_list("withdrawn_at", flat=True)
    states = list(rows)
    if not states:
        raise Http404("There is no such photo.")
    if None not in states:
        return HttpResponse(
            "This photo was taken down.", status=GONE, content_type="text/plain; charset=utf-8"
        )
    response = serve(request, path, document_root=str(settings.MEDIA_ROOT))
    patch_cache_control(response, private=True, max_age=KEPT_SECONDS)
    return response
