"""Endpoints of a HIT page: open, draft, submission, consent. They use a bearer token, never a cookie."""

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
from hits.selectors.eligibility.attempt_proof import has_attempt_proof
from hits.selectors.pages import unit_for_page_of_attempt
from hits.services.collecting import submit
from hits.services.collecting.page_keys import BadToken, PageKey, read_token

MAX_REVISION = 2**31 - 2  # the column's maximum minus one, because saving adds one


def page_key(request: Request) -> PageKey:
    """Return the page key from the token; ``PageTokenAuthentication`` sets it."""
    return cast(PageKey, request.auth)


class TokenThrottle(SimpleRateThrottle):
    """Counts requests per page token, so that one worker's tabs do not block other workers."""

    def get_cache_key(self, request: Request, view: APIView) -> str:
        """Return the cache key of the request count."""
        key = page_key(request)
        return f"throttle:{self.scope}:{key.assignment_id}:{key.worker_id}"


class DraftThrottle(TokenThrottle):
    """Limits saving drafts."""

    scope = "hit-draft"


class SubmitThrottle(TokenThrottle):
    """Limits sending answers."""

    scope = "hit-submit"


class NewAttemptThrottle(SimpleRateThrottle):
    """Counts new attempts per IP address, because anyone can get a page's token and each attempt creates a row."""

    scope = "hit-begin"

    def get_cache_key(self, request: Request, view: APIView) -> str | None:
        """Return the cache key of new attempts; ``None``, no limit, for an attempt that exists."""
        key = page_key(request)
        if read.has_opened(hit_id=key.hit_id, assignment_id=key.assignment_id, worker_id=key.worker_id):
            return None
        return f"throttle:{self.scope}:{self.get_ident(request)}"


class PageTokenAuthentication(BaseAuthentication):
    """Reads ``Authorization: Bearer <token>``, issued to one page."""

    def authenticate(self, request: Request) -> tuple[None, PageKey]:
        """Return the page key as ``request.auth``; raises ``BadToken``."""
        scheme, _, token = request.headers.get("Authorization", "").partition(" ")
        if scheme.lower() != "bearer" or not token:
            raise BadToken("This page's key is missing. Reload the task.")
        return None, read_token(token.strip())

    def authenticate_header(self, request: Request) -> str:
        """Return the scheme, so that a missing token results in 401."""
        return "Bearer"


class HitPageView(APIView):
    """Base of the page's endpoints."""

    authentication_classes = [PageTokenAuthentication]
    permission_classes = [AllowAny]  # the token is the permission: it names one unit, assignment and worker
    parser_classes = [StrictJSONParser]
    throttle_classes = [NewAttemptThrottle, DraftThrottle]


class OpenAttemptView(HitPageView):
    """Begin or resume work."""

    def post(self, request: Request) -> Response:
        """Return the draft and any stored submission of this assignment and worker."""
        attempt = submit.open_attempt(page_key(request))
        draft = read.find_draft(attempt)
        stored = read.latest_submission(attempt)
        return Response(
            {
                "draft": draft.content if draft else None,
                "revision": draft.revision if draft else 0,
                "submission": _submission_json(stored) | {"confirmed": read.is_confirmed(stored)}
                if stored
                else None,
                "seconds_left": read.seconds_left(attempt),
                "feedback": _feedback_json_or_none(attempt),
                **_unit_json_or_empty(attempt),
            }
        )


def _unit_json_or_empty(attempt: Attempt) -> dict[str, Any]:
    """Return the page's unit for kinds with arms, because the order is known only after opening."""
    if registry.get_kind(attempt.hit.unit.batch.kind).arms == 1:
        return {}
    return {"unit": unit_for_page_of_attempt(attempt)}


class StrictNumberField(serializers.FloatField):
    """A JSON number; booleans and numeric strings are refused."""

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
    """Store unfinished work."""

    def put(self, request: Request) -> Response:
        """Save; 409 with the other content if another tab saved a newer draft."""
        body = DraftInput(data=request.data)
        body.is_valid(raise_exception=True)
        draft = submit.save_draft(key=page_key(request), **body.validated_data)
        return Response({"revision": draft.revision, "saved_at": draft.saved_at.isoformat()})


class SubmissionInput(serializers.Serializer[Any]):
    """Body of a submission; the answer itself is checked by the kind."""

    client_uuid = serializers.UUIDField()
    answer = serializers.DictField()
    active_seconds = StrictNumberField()
    simulated = serializers.BooleanField(default=False)
    hints = serializers.JSONField(required=False)  # the service checks it and reports the row and field
    instructions = serializers.IntegerField(required=False, allow_null=True, min_value=1, max_value=2**62)


class SubmissionView(HitPageView):
    """Store an answer before the page submits it to the marketplace."""

    throttle_classes = [NewAttemptThrottle, SubmitThrottle]

    def post(self, request: Request) -> Response:
        """Return the fields that the page submits: 201 for a new answer, 200 for a repeated one."""
        body = SubmissionInput(data=request.data)
        body.is_valid(raise_exception=True)
        submission, new = submit.store_submission(key=page_key(request), **body.validated_data)
        code = status.HTTP_201_CREATED if new else status.HTTP_200_OK
        row = _submission_json(submission)
        return Response({"submission_id": row["id"], **row}, status=code)


class ConsentInput(serializers.Serializer[Any]):
    """Body of a consent."""

    version = serializers.IntegerField(min_value=0, max_value=MAX_REVISION)
    country = serializers.CharField(max_length=2, required=False, allow_blank=True)
    about_me = serializers.DictField(required=False, source="demographics_answers")


class ConsentView(HitPageView):
    """Agree to the consent text and declare a country."""

    def post(self, request: Request) -> Response:
        """Store the consent, the country and optional demographics; repeatable."""
        body = ConsentInput(data=request.data)
        body.is_valid(raise_exception=True)
        submit.record_consent(key=page_key(request), **body.validated_data)
        return Response({})


def _feedback_json_or_none(attempt: Attempt) -> dict[str, Any] | None:
    """Return the trainer's latest feedback to the worker, only on marketplaces with attempt proofs."""
    batch = attempt.hit.unit.batch
    if registry.get_kind(batch.kind).purpose is not Purpose.TRAINING or not has_attempt_proof(
        batch.environment
    ):
        return None
    found = feedback.latest_feedback(attempt.worker, batch.project, batch.kind)
    return found.as_page_dict() if found else None


def _submission_json(row: Submission) -> dict[str, Any]:
    return {"id": str(row.pk), "sha256": row.sha256, "schema_version": row.schema_version}
