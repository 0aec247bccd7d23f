"""The photo of a judging page with its region highlighted, as models see it too."""

import uuid

from django.contrib.auth.decorators import login_not_required
from django.http import Http404, HttpRequest, HttpResponse
from django.views.decorators.http import require_safe

from hits.selectors.images.regions import region_picture

# A unit's boxes and its photo's pixels never change, but a photo may be taken down.
_KEPT = "private, max-age=600"


@login_not_required
@require_safe
def hit_region(request: HttpRequest, public_id: uuid.UUID) -> HttpResponse:
    """Show a unit's photo with its mark. Whoever may see the task's preview may see this."""
    picture = region_picture(public_id)
    if picture is None:
        raise Http404("There is no such picture.")
    return HttpResponse(picture, content_type="image/jpeg", headers={"Cache-Control": _KEPT})
