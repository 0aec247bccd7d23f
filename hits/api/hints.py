"""Live hints on a page's draft. Nothing is stored."""

from django.conf import settings
from rest_framework.request import Request
from rest_framework.response import Response

from hits.api.hit_page import HitPageView, NewAttemptThrottle, TokenThrottle, page_key
from hits.domain.hashing import canonical_json
from hits.hints.client import EncoderClient
from hits.selectors import hints, pages
from hits.selectors.eligibility.own_work import is_excluded
from hits.services.collecting.page_keys import find_hit
from hits.services.collecting.submit import MAX_ANSWER_BYTES, NotEligible
from hits.services.errors import ContentTooLarge, Refused

# One per web process, so that all its threads share the state of an unavailable encoder.
_encoder = EncoderClient(settings.HINTS_SOCKET)


class HintThrottle(TokenThrottle):
    """Limits requests for hints."""

    scope = "hit-hints"


class HintsView(HitPageView):
    """Check a draft."""

    throttle_classes = [NewAttemptThrottle, HintThrottle]

    def post(self, request: Request) -> Response:
        """Return the hints on the answer so far, by card, most certain first."""
        draft = request.data
        if not isinstance(draft, dict):
            raise Refused("Send the answer so far as an object.")
        if len(canonical_json(draft)) > MAX_ANSWER_BYTES:
            raise ContentTooLarge(f"answer: over {MAX_ANSWER_BYTES // 1000} kB; shorten the texts")
        key = page_key(request)
        hit = find_hit(key)
        worker = pages.find_worker(hit.environment, key.worker_id)
        if is_excluded(worker, hit.unit):
            raise NotEligible(
                "This task is about your own work, or you judged it before, so somebody else has to do it."
            )
        model = _encoder if settings.HINTS_NLI_MODEL else None
        found = hints.draft_hints(hit, draft, worker=worker, encoder=_encoder, contradiction_model=model)
        return Response({"hints": [hint.as_dict() for hint in found]})
