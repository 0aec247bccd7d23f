"""A judging report as JSON."""

from typing import Any

from django.http import Http404
from rest_framework.request import Request
from rest_framework.response import Response
from rest_framework.views import APIView

from hits.domain.states import Role
from hits.models import Project
from hits.selectors.roles import visitor_has_role
from validation.models import JudgingReport
from validation.registry import is_judging_kind
from validation.selectors import report as selectors


class JudgingReportView(APIView):
    """GET /api/projects/<slug>/judging/<kind>/report/: the newest figures; 404 without a role in the project."""

    def get(self, request: Request, slug: str, kind: str) -> Response:
        """Return the newest report, the judgments since then, and workers by short name; 404 without a report."""
        project = Project.objects.filter(slug=slug).first()
        if (
            project is None
            or not visitor_has_role(request, project, Role.RESEARCHER)
            or not is_judging_kind(kind)
        ):
            raise Http404
        report = selectors.newest_report(project, kind)
        if report is None:
            raise Http404("Nothing was computed yet.")
        return Response(_serialize(report))


def _serialize(report: JudgingReport) -> dict[str, Any]:
    return {
        "project": report.project.slug,
        "kind": report.kind,
        "computed_at": report.computed_at,
        "seconds": report.seconds,
        "judgments": report.judgments,
        "ratings": report.ratings,
        "until": report.last_judgment_at,
        "since": selectors.count_new_judgments(report),
        "behind": selectors.is_report_outdated(report),
        "data_sha256": report.data_sha256,
        "figures": report.figures,
        "workers": [
            {"rank": row.rank, "worker": str(row.worker), "figures": row.figures}
            for row in selectors.list_report_workers(report)
        ],
    }
