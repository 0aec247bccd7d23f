"""``manage.py audit_triplets --project P``."""

from argparse import ArgumentParser
from typing import Any

from curation.management.encoder_names import make_encoder_path_absolute
from curation.management.option_fields import option_fields
from curation.management.triplet_options import find_triplet_project
from curation.models import TripletAudit
from curation.selectors.jobs import AUDIT_TRIPLETS
from curation.services.triplets.audits import AuditOptions, request_triplet_audit
from hits.management.base import input_error
from hits.management.jobs import JobCommand, job_facts
from hits.models import Job

DEFAULTS = AuditOptions()


class Command(JobCommand):
    """Audit a project's triplets for shortcuts."""

    help = "Look for ways to find gold without the premise or without looking: pixels, production, likeness, texts, …"
    tasks = (AUDIT_TRIPLETS,)

    def add_arguments(self, parser: ArgumentParser) -> None:
        """Declare the flags."""
        super().add_arguments(parser)
        parser.add_argument("--project", default="", help="the project's short name")
        parser.add_argument(
            "--encoder", type=make_encoder_path_absolute, default="", help="of image features"
        )
        parser.add_argument(
            "--swaps", type=int, default=DEFAULTS.swaps, help="of the permutation test; default: 500"
        )

    def create_job(self, *, queue: bool, **options: Any) -> Job:
        """Create the audit and its job."""
        if not options["project"]:
            raise input_error("give --project, or --resume JOB")
        return request_triplet_audit(
            project=find_triplet_project(options["project"]),
            options=AuditOptions(**option_fields(AuditOptions, options)),
            by=None,
            queue=queue,
        )

    def report_result(self, job: Job, options: dict[str, Any]) -> None:
        """Print each audit with its flag."""
        figures = TripletAudit.objects.get(pk=job.result["audit"]).figures
        lines = [
            f"{'FLAGGED' if audit['flagged'] else 'ok':8} {audit['name']}: {audit['why']}"
            for audit in figures["audits"]
        ]
        self.report(options, {**job_facts(job), **figures}, *lines)
