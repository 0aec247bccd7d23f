"""Request runs of box proposals, and store their boxes and the overlap with accepted pairs."""

from collections.abc import Iterable, Mapping, Sequence
from dataclasses import asdict, dataclass
from pathlib import Path
from typing import Any

from django.contrib.auth.models import AbstractBaseUser
from django.db import transaction
from django.db.models import F

from curation.models import ImageProposals, ProposalOverlap, ProposalRun
from curation.proposals.detector import (
    CLASSICAL,
    DEFAULT_LIMIT,
    DETECTOR_LABELS,
    BoxRow,
    DetectorUnavailable,
    validate_detector_name,
)
from curation.selectors.jobs import OVERLAPS, PROPOSALS
from hits.models import Image, Job, Project
from hits.services import audit
from hits.services.errors import Conflict, Refused
from hits.services.jobs import jobs

FILE_PREFIX = "file:"
LAYOUTS = ("auto", "corners", "sizes")
MAX_BOXES = 1000
INSERT_BATCH_SIZE = 1000
MAX_REVISION_LENGTH = 120  # characters that the column holds


@dataclass(frozen=True, slots=True)
class ProposalOptions:
    """How boxes are proposed.

    detector: a name of ``curation.proposals.factory``. limit: boxes per image (Hessel et al. 2022: 100).
    suppress_over: drop a model's box whose IoU with a higher-scoring box is over this (non-maximum suppression);
    absent keeps all boxes (default; Hessel et al. 2022 state no suppression).
    """

    detector: str = CLASSICAL
    limit: int = DEFAULT_LIMIT
    suppress_over: float | None = None

    def __post_init__(self) -> None:
        try:
            validate_detector_name(self.detector)
        except DetectorUnavailable as error:
            raise Refused(str(error)) from error
        if not 1 <= self.limit <= MAX_BOXES:
            raise Refused(
                f"limit: {self.limit} is not within 1 to {MAX_BOXES}; Hessel et al. (2022) take {DEFAULT_LIMIT}"
            )
        if self.suppress_over is not None and not 0 < self.suppress_over <= 1:
            raise Refused(
                f"suppress over: {self.suppress_over:g} is not between 0 and 1; use for instance 0.7"
            )
        if self.suppress_over is not None and self.detector == CLASSICAL:
            raise Refused("suppress over: does not apply to the classical detector; omit it")


def request_proposals(
    *,
    project: Project,
    by: AbstractBaseUser | None,
    options: ProposalOptions | None = None,
    queue: bool = True,
) -> Job:
    """Create a run's row and queue its job over all photos that are not taken down.

    Raises:
        Refused: the project has no photo.
        Conflict: a run is running.
    """
    chosen = options or ProposalOptions()
    return _create_run_and_queue(project, by, chosen.detector, asdict(chosen), queue=queue)


def request_proposals_import(
    *,
    project: Project,
    by: AbstractBaseUser | None,
    path: Path,
    layout: str = "auto",
    limit: int = DEFAULT_LIMIT,
    allowed_folder: Path | None = None,
    queue: bool = True,
) -> Job:
    """Queue the import of a file of proposals; the worker must be able to read the path.

    Args:
        allowed_folder: the folder that must contain the file when it is read, links resolved; absent allows any.

    Raises:
        Refused: there is no such file, the layout is unknown, the limit is below 1, or the project has no photo.
        Conflict: a run is running.
    """
    if layout not in LAYOUTS:
        raise Refused(f"layout: {layout!r}; use {', '.join(LAYOUTS)}")
    if limit < 1:
        raise Refused(f"limit: {limit} is too few; use at least 1")
    if not path.is_file():
        raise Refused(f"{path}: there is no such file; check the path")
    facts: dict[str, Any] = {"file": str(path.absolute()), "layout": layout, "limit": limit}
    if allowed_folder is not None:
        facts["within"] = str(allowed_folder.absolute())
    return _create_run_and_queue(project, by, f"{FILE_PREFIX}{path.name}"[:120], facts, queue=queue)


def _create_run_and_queue(
    project: Project, by: AbstractBaseUser | None, detector: str, options: dict[str, Any], *, queue: bool
) -> Job:
    images = Image.objects.filter(project=project, taken_down_at__isnull=True)
    last = images.order_by("-pk").values_list("pk", flat=True).first()
    if last is None:
        raise Refused("images: there are none; import some first")
    verb = "Import boxes from" if detector.startswith(FILE_PREFIX) else "Propose boxes with"
    with transaction.atomic():
        run = ProposalRun.objects.create(
            project=project, detector=detector[:120], options=options, created_by_id=by.pk if by else None
        )
        job = jobs.enqueue(
            task=PROPOSALS,
            title=f"{verb} {DETECTOR_LABELS.get(detector, detector)}"[:160],
            project=project,
            by=by,
            exclusive_key=f"proposals:{project.pk}",
            resumable=True,
            queue=queue,
            run=run.pk,
            last=last,  # photos added later belong to another run, even if this one is resumed
        )
        audit.record(project=project, actor=by, action="proposals.request", subject=run.pk, detector=detector)
    return job


def request_proposals_measurement(
    *, run: ProposalRun, by: AbstractBaseUser | None, queue: bool = True
) -> Job:
    """Queue the job that measures a run against the currently accepted pairs.

    Raises:
        Conflict: the run is not complete, or is being measured.
    """
    if not run.is_complete:
        raise Conflict(f"run {run.pk}: is not complete; wait until it finishes")
    return jobs.enqueue(
        task=OVERLAPS,
        title=f"Measure boxes of {run.detector}"[:160],
        project=run.project,
        by=by,
        exclusive_key=f"overlaps:{run.pk}",
        resumable=True,
        queue=queue,
        run=run.pk,
    )


@transaction.atomic
def store_run_facts(*, run: ProposalRun, revision: str, **options: Any) -> None:
    """Store the revision and options that a run's boxes come from.

    Raises:
        Refused: the run has boxes of another revision already.
    """
    stored_revision = revision[:MAX_REVISION_LENGTH]
    known = ProposalRun.objects.select_for_update().get(pk=run.pk)
    if known.revision and known.images:
        _check_revision(known, stored_revision)
    run.revision, run.options = stored_revision, known.options | options
    ProposalRun.objects.filter(pk=run.pk).update(revision=run.revision, options=run.options)


@transaction.atomic
def store_missing_boxes(*, run: ProposalRun, found: Mapping[int, Sequence[BoxRow]]) -> int:
    """Store the boxes of some images (row keys); images that have boxes are skipped. Return the number of new rows.

    Raises:
        Refused: the stored revision of the run is no longer that of ``run``.
    """
    _check_revision(ProposalRun.objects.select_for_update().get(pk=run.pk), run.revision)
    known = set(ImageProposals.objects.filter(run=run, image__in=found).values_list("image_id", flat=True))
    rows = [
        ImageProposals(run=run, image_id=image, boxes=list(boxes))
        for image, boxes in found.items()
        if image not in known
    ]
    ImageProposals.objects.bulk_create(rows, batch_size=INSERT_BATCH_SIZE)
    boxes = sum(len(row.boxes) for row in rows)
    ProposalRun.objects.filter(pk=run.pk).update(images=F("images") + len(rows), boxes=F("boxes") + boxes)
    return len(rows)


def complete_run(*, run: ProposalRun) -> None:
    """Mark a run as complete."""
    ProposalRun.objects.filter(pk=run.pk).update(is_complete=True)
    run.refresh_from_db()


@transaction.atomic
def store_and_prune_overlaps(
    *,
    found: Iterable[ImageProposals],
    measured: Mapping[tuple[int, int], Sequence[float]],
    current_pairs: Iterable[int],
) -> None:
    """Store the overlaps of some images' proposals with their pairs.

    Args:
        found: the images' proposals. measured: by proposals and pair (row keys), one IoU per proposal.
        current_pairs: pairs that count; overlaps with other pairs of these images are deleted.
    """
    images = [row.pk for row in found]
    ProposalOverlap.objects.filter(proposals__in=images).exclude(observation__in=list(current_pairs)).delete()
    ProposalOverlap.objects.bulk_create(
        [
            ProposalOverlap(
                proposals_id=proposals, observation_id=pair, ious=list(ious), best=max(ious, default=0.0)
            )
            for (proposals, pair), ious in measured.items()
        ],
        batch_size=INSERT_BATCH_SIZE,
        ignore_conflicts=True,  # measured concurrently: the same values
    )


def store_recall(*, run: ProposalRun, recall: dict[str, Any]) -> None:
    """Store a run's recall, so that its page need not sum over all pairs."""
    run.figures = recall
    ProposalRun.objects.filter(pk=run.pk).update(figures=recall)


def _check_revision(known: ProposalRun, revision: str) -> None:
    if known.revision != revision:
        raise Refused(
            f"run {known.pk}: its boxes are from {known.detector} {known.revision}, not {revision}; "
            "start a new run"
        )
