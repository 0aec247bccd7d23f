"""The photo of a judging page with its region highlighted, identical to the models' input."""

import uuid

from django.contrib.auth.decorators import login_not_required
from django.http import HttpRequest, HttpResponse
from django.views.decorators.http import require_safe

from hits.selectors.images.regions import render_photo_with_region
from hits.views.pages import get_or_404

# A unit's boxes and its photo's pixels never change, but a photo may be taken down.
_CACHE_CONTROL = "private, max-age=600"


@login_not_required
@require_safe
def hit_region(request: HttpRequest, public_id: uuid.UUID) -> HttpResponse:
    """Show a unit's photo with its region. It is as public as the task's preview."""
    picture = get_or_404(render_photo_with_region(public_id), "There is no such picture.")
    return HttpResponse(picture, content_type="image/jpeg", headers={"Cache-Control": _CACHE_CONTROL})
