"""How far a job is, as JSON for pages that wait for it."""

from typing import Any

from django.http import Http404
from rest_framework.request import Request
from rest_framework.response import Response
from rest_framework.views import APIView

from hits.domain.states import OPEN_JOB_STATES, Role
from hits.models import Job
from hits.selectors.jobs import speed_of
from hits.selectors.roles import may


class JobView(APIView):
    """GET /api/jobs/<id>/: state and counts. Signed out: 403; no part in its project: 404."""

    def get(self, request: Request, job_id: int) -> Response:
        """Return where the job stands."""
        job = Job.objects.select_related("project").filter(pk=job_id).first()
        if job is None or not self._may_see(request.user, job):
            raise Http404
        return Response(
            {
                "id": job.pk,
                "title": job.title,
                "state": job.state,
                "done": job.done,
                "total": job.total,
                "speed": speed_of(job),
                "over": job.state not in OPEN_JOB_STATES,
                "cancel_requested": job.cancel_requested,
                "error": job.error,
            }
        )

    def _may_see(self, user: Any, job: Job) -> bool:
        if job.project is None:
            return bool(user.is_superuser)
        return may(user, job.project, Role.RESEARCHER)
