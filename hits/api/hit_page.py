"""What a HIT page calls: open, draft, submission, consent. A bearer token, never a cookie."""

from typing import Any, cast

from rest_framework import serializers, status
from rest_framework.authentication import BaseAuthentication
from rest_framework.permissions import AllowAny
from rest_framework.request import Request
from rest_framework.response import Response
from rest_framework.throttling import SimpleRateThrottle
from rest_framework.views import APIView

from hits import registry
from hits.api.parsers import StrictJSONParser
from hits.domain.states import Purpose
from hits.models import Attempt, Submission
from hits.selectors import feedback
from hits.selectors import submissions as read
from hits.selectors.eligibility.attempt_proof import has_proof
from hits.selectors.pages import page_unit_of
from hits.services.collecting import submit
from hits.services.collecting.page_keys import BadToken, PageKey, read_token

MAX_REVISION = 2**31 - 2  # one less than the column's largest, since saving adds one


def page_key(request: Request) -> PageKey:
    """Return what the page's token says; the authentication below put it there."""
    return cast(PageKey, request.auth)


class TokenThrottle(SimpleRateThrottle):
    """Counts requests per page token, so that one worker's tabs cannot crowd out the others."""

    def get_cache_key(self, request: Request, view: APIView) -> str:
        """Return the key that requests are counted under."""
        key = page_key(request)
        return f"throttle:{self.scope}:{key.assignment_id}:{key.worker_id}"


class DraftThrottle(TokenThrottle):
    """For saving drafts."""

    scope = "hit-draft"


class SubmitThrottle(TokenThrottle):
    """For sending answers."""

    scope = "hit-submit"


class BeginThrottle(SimpleRateThrottle):
    """Counts beginnings per address: a page's key is given to whoever asks, and each one makes a row."""

    scope = "hit-begin"

    def get_cache_key(self, request: Request, view: APIView) -> str | None:
        """Return the key that beginnings are counted under; work that has begun is not held up."""
        key = page_key(request)
        if read.has_begun(hit_id=key.hit_id, assignment_id=key.assignment_id, worker_id=key.worker_id):
            return None
        return f"throttle:{self.scope}:{self.get_ident(request)}"


class PageToken(BaseAuthentication):
    """``Authorization: Bearer <token>`` as issued to one page."""

    def authenticate(self, request: Request) -> tuple[None, PageKey]:
        """Return the page key as ``request.auth``; raises ``BadToken``."""
        scheme, _, token = request.headers.get("Authorization", "").partition(" ")
        if scheme.lower() != "bearer" or not token:
            raise BadToken("This page's key is missing. Reload the task.")
        return None, read_token(token.strip())

    def authenticate_header(self, request: Request) -> str:
        """Return the scheme, so that a missing token answers 401."""
        return "Bearer"


class HitPageView(APIView):
    """Base of the page's endpoints."""

    authentication_classes = [PageToken]
    permission_classes = [AllowAny]  # the token is the permission: it names one unit, assignment and worker
    parser_classes = [StrictJSONParser]
    throttle_classes = [BeginThrottle, DraftThrottle]


class OpenView(HitPageView):
    """Begin or resume work."""

    def post(self, request: Request) -> Response:
        """Return the draft and any stored submission of this assignment and worker."""
        attempt = submit.open_attempt(page_key(request))
        draft = read.draft_of(attempt)
        stored = read.latest_submission(attempt)
        return Response(
            {
                "draft": draft.content if draft else None,
                "revision": draft.revision if draft else 0,
                "submission": _stored(stored) if stored else None,
                "seconds_left": read.seconds_left(attempt),
                "feedback": _feedback(attempt),
                **_unit(attempt),
            }
        )


def _unit(attempt: Attempt) -> dict[str, Any]:
    """Return the page's unit, of kinds with arms: which order is shown is known only now."""
    if registry.get(attempt.hit.unit.batch.kind).arms == 1:
        return {}
    return {"unit": page_unit_of(attempt)}


class Number(serializers.FloatField):
    """A JSON number; neither true nor a text that looks like one."""

    def to_internal_value(self, data: Any) -> float:
        """Return the number."""
        if isinstance(data, bool | str):
            self.fail("invalid")
        return super().to_internal_value(data)


class DraftInput(serializers.Serializer[Any]):
    """Body of a draft."""

    content = serializers.DictField()
    revision = serializers.IntegerField(min_value=0, max_value=MAX_REVISION)


class DraftView(HitPageView):
    """Keep unfinished work."""

    def put(self, request: Request) -> Response:
        """Save; 409 with the other content when another tab saved since."""
        body = DraftInput(data=request.data)
        body.is_valid(raise_exception=True)
        draft = submit.save_draft(key=page_key(request), **body.validated_data)
        return Response({"revision": draft.revision, "saved_at": draft.saved_at.isoformat()})


class SubmissionInput(serializers.Serializer[Any]):
    """Body of a submission; the answer itself is checked by the kind."""

    client_uuid = serializers.UUIDField()
    answer = serializers.DictField()
    active_seconds = Number()
    simulated = serializers.BooleanField(default=False)
    hints = serializers.JSONField(required=False)  # checked by the service, which names the row and the part
    instructions = serializers.IntegerField(required=False, allow_null=True, min_value=1, max_value=2**62)


class SubmissionView(HitPageView):
    """Store an answer before it is handed over to the marketplace."""

    throttle_classes = [BeginThrottle, SubmitThrottle]

    def post(self, request: Request) -> Response:
        """Return what the page posts on: 201 for a new answer, 200 for the same one again."""
        body = SubmissionInput(data=request.data)
        body.is_valid(raise_exception=True)
        submission, new = submit.store_submission(key=page_key(request), **body.validated_data)
        code = status.HTTP_201_CREATED if new else status.HTTP_200_OK
        row = _submission(submission)
        return Response({"submission_id": row["id"], **row}, status=code)


class ConsentInput(serializers.Serializer[Any]):
    """Body of an agreement."""

    version = serializers.IntegerField(min_value=0, max_value=MAX_REVISION)
    country = serializers.CharField(max_length=2, required=False, allow_blank=True)
    about_me = serializers.DictField(required=False)


class ConsentView(HitPageView):
    """Agree to the consent text, and say where one works from."""

    def post(self, request: Request) -> Response:
        """Record both, and what the worker chose to say about themselves; repeatable."""
        body = ConsentInput(data=request.data)
        body.is_valid(raise_exception=True)
        submit.agree(key=page_key(request), **body.validated_data)
        return Response({})


def _feedback(attempt: Attempt) -> dict[str, Any] | None:
    """Return what a trainer wrote about the worker's last training task, to a page that proved who asks."""
    batch = attempt.hit.unit.batch
    if registry.get(batch.kind).purpose is not Purpose.TRAINING or not has_proof(batch.environment):
        return None
    found = feedback.latest(attempt.worker, batch.project, batch.kind)
    return found.as_page() if found else None


def _stored(row: Submission) -> dict[str, Any]:
    return {**_submission(row), "confirmed": read.is_confirmed(row)}


def _submission(row: Submission) -> dict[str, str]:
    return {"id": str(row.pk), "sha256": row.sha256, "schema_version": row.schema_version}
