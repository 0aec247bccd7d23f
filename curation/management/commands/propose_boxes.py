"""``manage.py propose_boxes --project SLUG [--detector D] [--limit 100]``, or ``propose_boxes --measure RUN``."""

from argparse import ArgumentParser
from typing import Any

from curation.models import ProposalRun
from curation.proposals.detector import CLASSICAL, DEFAULT_LIMIT
from curation.selectors.jobs import OVERLAPS, PROPOSALS
from curation.services.proposals import ProposalOptions, request_proposals, request_proposals_measurement
from hits.management.base import input_error
from hits.management.jobs import JobCommand, absolute_model_folder
from hits.management.lookups import find_project
from hits.models import Job


class Command(JobCommand):
    """Propose boxes in all photos of a project, and measure them against its accepted pairs."""

    help = "Propose boxes in all photos of a project, and measure them against its accepted pairs."
    tasks = (PROPOSALS, OVERLAPS)

    def add_arguments(self, parser: ArgumentParser) -> None:
        """Add the options."""
        super().add_arguments(parser)
        add = parser.add_argument
        add("--project", default="", help="the project's short name")
        detectors = "classical (default), or hf:<hub id or folder>"
        add("--detector", type=absolute_model_folder, default=CLASSICAL, help=detectors)
        add("--limit", type=int, default=DEFAULT_LIMIT, help=f"boxes per photo; default: {DEFAULT_LIMIT}")
        suppress = (
            "drop a box whose IoU with a higher-scoring box is above this (non-maximum suppression); "
            "default: no box is dropped"
        )
        add("--suppress-over", type=float, metavar="IOU", help=suppress)
        add(
            "--measure",
            type=int,
            metavar="RUN",
            help="only measure a run against the currently accepted pairs",
        )

    def create_job(self, *, queue: bool, **options: Any) -> Job:
        """Create the job of a new run, or of a new measurement of a run."""
        if options["measure"] is not None:
            run = ProposalRun.objects.filter(pk=options["measure"]).select_related("project").first()
            if run is None:
                raise input_error(f"--measure {options['measure']}: there is no such run")
            return request_proposals_measurement(run=run, by=None, queue=queue)
        given = ProposalOptions(options["detector"], options["limit"], options["suppress_over"])
        project = find_project(options["project"])
        return request_proposals(project=project, by=None, options=given, queue=queue)
