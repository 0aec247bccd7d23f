"""A job's progress as JSON, for pages that poll it."""

from typing import Any

from django.http import Http404
from django.utils.dateformat import format as written
from rest_framework.exceptions import ParseError
from rest_framework.request import Request
from rest_framework.response import Response
from rest_framework.views import APIView

from hits.domain.states import OPEN_JOB_STATES, Role
from hits.models import Job
from hits.selectors.jobs import job_done_and_total, job_speed_label
from hits.selectors.roles import has_role

MAX_LINES = 200


class JobView(APIView):
    """GET /api/jobs/<id>/: state and counts. Signed out: 403; no role in its project: 404.

    ``?after=N`` adds up to 200 further log lines, oldest first, and the progress of each subjob. N is the id of the
    last line that the page has, 0 before the first.
    """

    def get(self, request: Request, job_id: int) -> Response:
        """Return the job's state and counts."""
        job = Job.objects.select_related("project").filter(pk=job_id).first()
        if job is None or not self._can_see_job(request.user, job):
            raise Http404
        after = request.query_params.get("after")
        return Response(
            _summary_json(job) | ({} if after is None else _log_and_subjobs_json(job, _parse_line_id(after)))
        )

    def _can_see_job(self, user: Any, job: Job) -> bool:
        if job.project is None:
            return bool(user.is_superuser)
        return has_role(user, job.project, Role.RESEARCHER)


def _summary_json(job: Job) -> dict[str, Any]:
    done, total = job_done_and_total(job)
    return {
        "id": job.pk,
        "title": job.title,
        "state": job.state,
        "done": done,
        "total": total,
        "speed": job_speed_label(job),
        "over": job.state not in OPEN_JOB_STATES,
        "cancel_requested": job.cancel_requested,
        "resumable": job.resumable,
        "runs": job.runs,
        "error": job.error,
    }


def _log_and_subjobs_json(job: Job, after_line_id: int) -> dict[str, Any]:
    lines = job.lines.filter(pk__gt=after_line_id)[:MAX_LINES]
    return {
        "lines": [
            {"id": line.pk, "at": line.at, "when": written(line.at, "j M H:i:s"), "text": line.text}
            for line in lines
        ],
        "parts": list(job.subjobs.order_by("pk").values("id", "state", "done", "total")),
    }


def _parse_line_id(text: str) -> int:
    if not text.isdecimal():
        raise ParseError(f"after: {text!r} is not a line id; send the id of the last line, or 0")
    return int(text)
