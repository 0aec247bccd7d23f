"""``manage.py detect_objects --project SLUG --detector hf:MODEL|mask:MODEL [--min-score 0.7]``."""

from argparse import ArgumentParser
from typing import Any

from curation.interest.rules import MIN_SCORE
from curation.proposals.detector import DEFAULT_LIMIT
from curation.proposals.objects import PERSON_LABELS
from curation.selectors.jobs import DETECT_OBJECTS
from curation.services.objects import DetectionOptions, request_detection
from hits.management.base import input_error
from hits.management.jobs import JobCommand, absolute_model_folder
from hits.management.lookups import find_project
from hits.models import Job


class Command(JobCommand):
    """Detect the objects of all photos of a project, with their classes and outlines."""

    help = "Detect the objects of all photos of a project: classes, boxes, and outlines by mask: models."
    tasks = (DETECT_OBJECTS,)

    def add_arguments(self, parser: ArgumentParser) -> None:
        """Add the options."""
        super().add_arguments(parser)
        add = parser.add_argument
        add("--project", default="", help="the project's short name")
        detector_help = (
            "hf:<hub id or folder> of an object detection model, or mask:<hub id or folder> of an instance "
            "segmentation model"
        )
        add("--detector", type=absolute_model_folder, default="", help=detector_help)
        score_help = f"leave out objects with a lower score; default: {MIN_SCORE} (Zellers et al. 2019)"
        add("--min-score", type=float, default=MIN_SCORE, help=score_help)
        add("--limit", type=int, default=DEFAULT_LIMIT, help=f"objects per photo; default: {DEFAULT_LIMIT}")
        suppress = "drop a box whose IoU with a higher-scoring box is above this; default: no box is dropped"
        add("--suppress-over", type=float, metavar="IOU", help=suppress)
        labels = ",".join(PERSON_LABELS)
        add("--person-labels", default=labels, help=f"classes that are called person; default: {labels}")

    def create_job(self, *, queue: bool, **options: Any) -> Job:
        """Create the job."""
        if not options["detector"]:
            raise input_error("--detector: is missing; use hf: or mask: with a model, or --resume JOB")
        names = (name.strip().lower() for name in options["person_labels"].split(","))
        given = DetectionOptions(
            detector=options["detector"],
            min_score=options["min_score"],
            limit=options["limit"],
            suppress_over=options["suppress_over"],
            person_labels=tuple(filter(None, names)),
        )
        project = find_project(options["project"])
        return request_detection(project=project, by=None, options=given, queue=queue)
