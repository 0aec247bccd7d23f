"""How far a job is, as JSON for pages that wait for it."""

from typing import Any

from django.http import Http404
from django.utils.dateformat import format as written
from rest_framework.exceptions import ParseError
from rest_framework.request import Request
from rest_framework.response import Response
from rest_framework.views import APIView

from hits.domain.states import OPEN_JOB_STATES, Role
from hits.models import Job
from hits.selectors.jobs import counts, speed_of
from hits.selectors.roles import may

LINES = 200


class JobView(APIView):
    """GET /api/jobs/<id>/: state and counts. Signed out: 403; no part in its project: 404.

    With ``?after=N`` also the log's next lines, oldest first and at most 200, and how far each part is; N is the
    id of the last line that the page has, 0 before the first.
    """

    def get(self, request: Request, job_id: int) -> Response:
        """Return where the job stands."""
        job = Job.objects.select_related("project").filter(pk=job_id).first()
        if job is None or not self._may_see(request.user, job):
            raise Http404
        after = request.query_params.get("after")
        return Response(_summary(job) | ({} if after is None else _details(job, _cursor(after))))

    def _may_see(self, user: Any, job: Job) -> bool:
        if job.project is None:
            return bool(user.is_superuser)
        return may(user, job.project, Role.RESEARCHER)


def _summary(job: Job) -> dict[str, Any]:
    done, total = counts(job)
    return {
        "id": job.pk,
        "title": job.title,
        "state": job.state,
        "done": done,
        "total": total,
        "speed": speed_of(job),
        "over": job.state not in OPEN_JOB_STATES,
        "cancel_requested": job.cancel_requested,
        "resumable": job.resumable,
        "runs": job.runs,
        "error": job.error,
    }


def _details(job: Job, after: int) -> dict[str, Any]:
    lines = job.lines.filter(pk__gt=after)[:LINES]
    return {
        "lines": [
            {"id": line.pk, "at": line.at, "when": written(line.at, "j M H:i:s"), "text": line.text}
            for line in lines
        ],
        "parts": list(job.parts.order_by("pk").values("id", "state", "done", "total")),
    }


def _cursor(text: str) -> int:
    if not text.isdecimal():
        raise ParseError(f"after: {text!r} is no line; give the id of the last line you have, or 0")
    return int(text)
