"""Run a detector over a project's photos, or take its boxes from a file, and hold them against the accepted pairs.

Source: paper 000 §4.2 "Auto bounding boxes". Everything goes on where a killed or cancelled job ended, and what is
there already is never made again.
"""

import hashlib
from collections.abc import Iterator
from itertools import islice
from pathlib import Path
from typing import Any

import numpy as np
from numpy.typing import NDArray

from curation.models import ImageProposals, ProposalRun
from curation.pipelines.vectors import open_image
from curation.proposals.choose import get_detector
from curation.proposals.detector import LIMIT, Detector, Row
from curation.proposals.overlap import Coverage, Recall, overlaps
from curation.proposals.published import Entry, Layout, found_in, read_entries, recognise
from curation.records import InvalidInput
from curation.selectors import proposals as stored
from curation.services import proposals as keep
from curation.versions.build import image_url
from hits.models import Observation
from hits.services.errors import Refused
from hits.services.jobs import Progress

BATCH = 8  # photos between two steps
READ_AT_ONCE = 200  # records of a file between two steps
_BOX = ("left", "top", "width", "height")
Places = dict[str, tuple[int, int, int]]


def fill_run(*, run: ProposalRun, last: int, progress: Progress, detector: Detector | None = None) -> Recall:
    """Find or read all boxes of a run, then measure them.

    Args:
        last: row key of the last photo that belongs to the run.
        detector: the one that the run names when absent.

    Raises:
        Refused: the detector or the file cannot be had, a photo is broken, or they changed since the run began.
    """
    try:
        if not run.is_complete and run.detector.startswith(keep.FILE):
            _read_file(run, progress)
        elif not run.is_complete:
            _propose(run, last, progress, detector or _detector_of(run))
    except InvalidInput as error:
        raise Refused(str(error)) from error
    keep.complete_run(run=run)
    return measure_run(run=run, progress=progress)


def measure_run(*, run: ProposalRun, progress: Progress | None = None) -> Recall:
    """Hold a run's boxes against the pairs that are accepted now; pairs that were measured before are not again."""
    after = measured = 0
    while found := stored.found_after(run, after):
        measured += _measure(run, found)
        after = found[-1].pk
        if progress is not None:
            progress.advance(progress.job.done, progress.job.total)
    coverage = Coverage(int(run.options.get("limit", LIMIT)))
    for pairs in stored.ious_by_image(run):
        coverage.add_image(pairs)
    recall = coverage.recall()
    keep.store_recall(run=run, recall=stored.as_kept(recall))
    if progress is not None:
        progress.log(f"Measured {measured} new pairs; {recall.pairs} pairs on {recall.images} photos in all")
    return recall


def summary(run: ProposalRun, recall: Recall) -> dict[str, Any]:
    """Return what the job's row keeps."""
    return {
        "run": run.pk,
        "images": run.images,
        "boxes": run.boxes,
        "pairs": recall.pairs,
        "solvable": recall.solvable,
    }


def _detector_of(run: ProposalRun) -> Detector:
    options = run.options
    name = options.get("detector", run.detector)  # the row's own name of it may be cut
    return get_detector(name, limit=options["limit"], suppress_over=options["suppress_over"])


def _propose(run: ProposalRun, last: int, progress: Progress, detector: Detector) -> None:
    keep.store_facts(run=run, revision=detector.revision)
    after = int(progress.job.cursor.get("after", 0))
    done = stored.images_left(run, after=0, last=after).count()
    total = done + stored.images_left(run, after=after, last=last).count()
    progress.advance(done, total, after=after)
    while images := list(stored.images_left(run, after=after, last=last)[:BATCH]):
        found = detector.propose([open_image(image) for image in images])
        rows = {image.pk: one.rows() for image, one in zip(images, found, strict=True)}
        keep.store_found(run=run, found=rows)
        after, done = images[-1].pk, done + len(images)
        progress.advance(done, total, after=after)


def _read_file(run: ProposalRun, progress: Progress) -> None:
    path = Path(run.options["file"])
    places = stored.by_address(run.project, image_url)
    layout = _layout(run, path, places)
    keep.store_facts(run=run, revision=_fingerprint(path), layout=layout.value)
    progress.log(f"{path.name}: four numbers of a box are read as {layout.value}")
    seen: set[int] = set()
    records = others = 0
    entries = _known_entries(path, places)
    while few := list(islice(entries, READ_AT_ONCE)):
        found: dict[int, list[Row]] = {}
        for entry, place in few:
            records += 1
            if place is None:
                others += 1
                continue
            key, *size = place
            if key in seen:
                raise Refused(f"{entry.where}: is in the file twice; keep one of them")
            seen.add(key)
            found[key] = found_in(entry, layout, (size[0], size[1]), limit=run.options["limit"]).rows()
        keep.store_found(run=run, found=found)
        progress.advance(len(seen), len(places), after=records)
    if not seen:
        raise Refused(
            f"{path}: names none of the project's photos; import them under the addresses of the file"
        )
    progress.log(f"{len(seen)} of {len(places)} photos have boxes; {others} records are of other photos")


def _known_entries(path: Path, places: Places) -> Iterator[tuple[Entry, tuple[int, int, int] | None]]:
    return ((entry, places.get(entry.url)) for entry in read_entries(path))


def _layout(run: ProposalRun, path: Path, places: Places) -> Layout:
    named = run.options["layout"]
    if named in set(Layout):
        return Layout(named)

    def size_of(url: str) -> tuple[int, int] | None:
        place = places.get(url)
        return place[1:] if place else None

    return recognise(path, size_of)


def _fingerprint(path: Path) -> str:
    try:
        with path.open("rb") as file:
            return f"sha256:{hashlib.file_digest(file, 'sha256').hexdigest()}"
    except OSError as error:
        raise InvalidInput(
            f"{path}: cannot be read ({error.strerror}); name the file of proposals"
        ) from error


def _measure(run: ProposalRun, found: list[ImageProposals]) -> int:
    """Measure the pairs on some images that were not measured yet; return how many."""
    pairs = stored.accepted_pairs(run, found)
    known = stored.measured_in(found)
    measured: dict[tuple[int, int], list[float]] = {}
    for row in found:
        new = [pair for pair in pairs.get(row.image_id, []) if (row.pk, pair.pk) not in known]
        if new:
            proposed = np.array([box[:4] for box in row.boxes], dtype=np.int64).reshape(-1, 4)
            measured |= {(row.pk, pair.pk): overlaps(proposed, _gold(pair)).tolist() for pair in new}
    standing = {pair.pk for some in pairs.values() for pair in some}
    keep.store_overlaps(found=found, measured=measured, standing=standing)
    return len(measured)


def _gold(pair: Observation) -> NDArray[np.int64]:
    return np.array([[box[side] for side in _BOX] for box in pair.boxes], dtype=np.int64)
