"""Run a detector over a project's photos, or read its boxes from a file, and compare them with the accepted pairs.

Source: Hessel et al. 2022 §4.2 "Auto bounding boxes". A detector's photos are divided into sub-jobs, which any worker
may run in any order. A killed or cancelled job resumes where it stopped; existing boxes are not computed again.
"""

from collections.abc import Mapping, Sequence
from itertools import islice
from pathlib import Path
from typing import Any

import numpy as np
from numpy.typing import NDArray

from curation.files import file_sha256
from curation.models import ImageProposals, Pair, ProposalRun
from curation.pipelines import detectors
from curation.proposals.detector import DEFAULT_LIMIT, BoxRow, DetectedBoxes
from curation.proposals.overlap import Recall, RecallAccumulator, best_overlaps
from curation.proposals.published import BoxLayout, entry_boxes, read_entries, recognise_layout
from curation.records import InvalidInput
from curation.selectors import proposals as proposal_selectors
from curation.selectors.jobs import PROPOSALS_SUBJOB
from curation.services import proposals as proposal_services
from curation.services.refusals import refuse_invalid_input
from curation.sources.path_sandbox import PathSandbox
from curation.versions.plan import image_url
from hits.models import Image
from hits.services.errors import Refused
from hits.services.jobs.jobs import Progress
from hits.services.jobs.subjobs import PlannedSubjob, SplitIntoSubjobs

PHOTOS_PER_SUBJOB = 500  # minutes of work; a published collection gives about 200 sub-jobs
RECORD_CHUNK_SIZE = 200  # records of a file between two steps
_BOX = ("left", "top", "width", "height")
PhotoIndex = dict[str, tuple[int, int, int]]


def fill_proposal_run(*, run: ProposalRun, last_photo_key: int, progress: Progress) -> Recall:
    """Run a job: read the file, or start sub-jobs for photos without boxes; measure the run when it is complete.

    Args:
        last_photo_key: row key of the run's last photo.

    Raises:
        SplitIntoSubjobs: photos have no boxes yet; the job is called again when they have.
        Refused: the detector or the file is not available, or differs from the one at the start of the run.
    """
    with refuse_invalid_input():
        if not run.is_complete and run.detector.startswith(proposal_services.FILE_PREFIX):
            _import_boxes_from_file(run, progress)
        elif not run.is_complete:
            _start_subjobs(run, last_photo_key, progress)
    proposal_services.complete_run(run=run)
    return measure_run_recall(run=run, progress=progress)


def run_proposal_subjob(*, run: ProposalRun, first: int, last: int, progress: Progress) -> None:
    """Find the boxes of a sub-job: of the photos without boxes between two row keys, both inclusive.

    Raises:
        Refused: this machine's detector differs from the run's, or photos are unreadable; the latter is raised after
            all other photos have their boxes.
        Cancelled: the job was cancelled; found boxes are saved.
    """
    with refuse_invalid_input():
        _propose_and_store(
            run, list(proposal_selectors.images_without_boxes(run, first_pk=first, last_pk=last)), progress
        )


def measure_run_recall(*, run: ProposalRun, progress: Progress | None = None) -> Recall:
    """Compare a run's boxes with the currently accepted pairs; measured pairs are not measured again."""
    after = measured = 0
    while found := proposal_selectors.next_proposals(run, after):
        measured += _measure_new_pairs(run, found)
        after = found[-1].pk
        if progress is not None:
            progress.advance(progress.job.done, progress.job.total)
    coverage = RecallAccumulator(int(run.options.get("limit", DEFAULT_LIMIT)))
    for pairs in proposal_selectors.ious_by_image(run):
        coverage.add_image(pairs)
    recall = coverage.recall()
    proposal_services.store_recall(run=run, recall=proposal_selectors.recall_as_json(recall))
    if progress is not None:
        progress.log(f"Measured {measured} new pairs; {recall.pairs} pairs on {recall.images} photos in all")
    return recall


def summarise_run(run: ProposalRun, recall: Recall) -> dict[str, Any]:
    """Return the result for the job's row."""
    counts = {"pairs": recall.pairs, "solvable": recall.solvable}
    return {"run": run.pk, "images": run.images, "boxes": run.boxes, **counts}


def _start_subjobs(run: ProposalRun, last_photo_key: int, progress: Progress) -> None:
    """Start sub-jobs for the remaining photos, if any; all use the detector that is loaded here."""
    pending = list(
        proposal_selectors.images_without_boxes(run, last_pk=last_photo_key).values_list("pk", flat=True)
    )
    if not pending:
        return
    detectors.load_detector.cache_clear()  # a folder's weights may have changed since this process loaded them
    proposal_services.store_run_facts(run=run, revision=detectors.run_detector(run).revision)
    subjobs = _make_subjobs(run, pending)
    progress.log(f"{len(pending)} photos have no boxes yet; {len(subjobs)} sub-jobs")
    raise SplitIntoSubjobs(task=PROPOSALS_SUBJOB, subjobs=subjobs, done=run.images)


def _make_subjobs(run: ProposalRun, pending: Sequence[int]) -> list[PlannedSubjob]:
    starts = range(0, len(pending), PHOTOS_PER_SUBJOB)
    groups = [pending[start : start + PHOTOS_PER_SUBJOB] for start in starts]
    return [
        PlannedSubjob(
            title=f"Sub-job {number} of {len(groups)}",
            total=len(group),
            args={"run": run.pk, "first": group[0], "last": group[-1]},
        )
        for number, group in enumerate(groups, start=1)
    ]


def _propose_and_store(run: ProposalRun, images: Sequence[Image], progress: Progress) -> None:
    total = progress.job.total
    progress.advance(max(0, total - len(images)), total)
    if not images:
        return

    def store(found: Mapping[int, DetectedBoxes]) -> None:
        rows = {key: boxes.rows() for key, boxes in found.items()}
        proposal_services.store_missing_boxes(run=run, found=rows)

    detectors.find_in_photos(detectors.checked_run_detector(run), images, store, progress)


def _import_boxes_from_file(run: ProposalRun, progress: Progress) -> None:
    path = Path(run.options["file"])
    # Since it was chosen, the file may have become a link to another folder: check it before each opening.
    sandbox = PathSandbox(run.options.get("within", ""))
    photos = proposal_selectors.images_by_address(run.project, image_url)
    sandbox.check(path)
    layout = _choose_layout(run, path, photos)
    sandbox.check(path)
    proposal_services.store_run_facts(run=run, revision=_hash_file(path), layout=layout.value)
    progress.log(f"{path.name}: four numbers of a box are read as {layout.value}")
    seen: set[int] = set()
    records = unknown = 0
    sandbox.check(path)
    entries = ((entry, photos.get(entry.url)) for entry in read_entries(path))
    while batch := list(islice(entries, RECORD_CHUNK_SIZE)):
        found: dict[int, list[BoxRow]] = {}
        for entry, photo in batch:
            records += 1
            if photo is None:
                unknown += 1
                continue
            key, *size = photo
            if key in seen:
                raise Refused(f"{entry.where}: is in the file twice; keep one of them")
            seen.add(key)
            found[key] = entry_boxes(entry, layout, (size[0], size[1]), limit=run.options["limit"]).rows()
        proposal_services.store_missing_boxes(run=run, found=found)
        progress.advance(len(seen), len(photos), after=records)
    if not seen:
        raise Refused(
            f"{path}: names none of the project's photos; import them with the addresses in the file"
        )
    progress.log(f"{len(seen)} of {len(photos)} photos have boxes; {unknown} records are about other photos")


def _choose_layout(run: ProposalRun, path: Path, photos: PhotoIndex) -> BoxLayout:
    given = run.options["layout"]
    if given in set(BoxLayout):
        return BoxLayout(given)

    def size_of(url: str) -> tuple[int, int] | None:
        photo = photos.get(url)
        return photo[1:] if photo else None

    return recognise_layout(path, size_of)


def _hash_file(path: Path) -> str:
    try:
        return f"sha256:{file_sha256(path)}"
    except OSError as error:
        raise InvalidInput(
            f"{path}: cannot be read ({error.strerror}); give the file of proposals"
        ) from error


def _measure_new_pairs(run: ProposalRun, found: list[ImageProposals]) -> int:
    """Measure the new pairs on some images; return their number."""
    pairs = proposal_selectors.accepted_pairs_by_image(run, found)
    known = proposal_selectors.measured_pairs(found)
    measured: dict[tuple[int, int], list[float]] = {}
    for row in found:
        new = [pair for pair in pairs.get(row.image_id, []) if (row.pk, pair.pk) not in known]
        if new:
            proposed = np.array([box[:4] for box in row.boxes], dtype=np.int64).reshape(-1, 4)
            boxes = {(row.pk, pair.pk): _pair_boxes(pair) for pair in new}
            measured |= {key: best_overlaps(proposed, own).tolist() for key, own in boxes.items()}
    current = {pair.pk for image_pairs in pairs.values() for pair in image_pairs}
    proposal_services.store_and_prune_overlaps(found=found, measured=measured, current_pairs=current)
    return len(measured)


def _pair_boxes(pair: Pair) -> NDArray[np.int64]:
    return np.array([[box[side] for side in _BOX] for box in pair.boxes], dtype=np.int64)
