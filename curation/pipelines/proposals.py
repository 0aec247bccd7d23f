"""Run a detector over a project's photos, or take its boxes from a file, and hold them against the accepted pairs.

Source: paper 000 §4.2 "Auto bounding boxes". A detector's photos are shared out in parts, which any worker takes in
any order. Everything goes on where a killed or cancelled job ended, and what is there already is never made again.
"""

import re
from collections.abc import Iterator, Sequence
from contextlib import closing
from dataclasses import dataclass, field
from functools import lru_cache
from itertools import islice
from pathlib import Path
from typing import Any

import numpy as np
from numpy.typing import NDArray
from PIL import Image as Pillow

from curation.cores import usable_cores
from curation.features.parallel import in_threads
from curation.files import file_sha256
from curation.models import ImageProposals, Pair, ProposalRun
from curation.pipelines.vectors import open_image
from curation.proposals.choose import get_detector
from curation.proposals.detector import LIMIT, Detector, Row
from curation.proposals.overlap import Coverage, Recall, overlaps
from curation.proposals.published import Entry, Layout, found_in, read_entries, recognise
from curation.records import InvalidInput
from curation.selectors import proposals as stored
from curation.selectors.jobs import PROPOSALS_PART
from curation.services import proposals as keep
from curation.sources.fence import Fence
from curation.versions.plan import image_url
from hits.models import Image
from hits.services.errors import Refused
from hits.services.jobs.jobs import Progress
from hits.services.jobs.subjobs import Part, Split

PART = 500  # photos of one part: minutes of work, some 200 rows for a published collection
BATCH = 8  # photos between two steps
READ_AT_ONCE = 200  # records of a file between two steps
LINES = 20  # photos that cannot be read, each with a line of its own in the log of a part
NAMED = 5  # of them in the message of a part
_BOX = ("left", "top", "width", "height")
_COMMIT = re.compile(r"[0-9a-f]{40}")  # revisions of hub models alone look like that
_UNDECODABLE = (Pillow.DecompressionBombError, SyntaxError, ValueError, EOFError)  # Pillow's, beside OSError
Places = dict[str, tuple[int, int, int]]


def fill_run(*, run: ProposalRun, last: int, progress: Progress) -> Recall:
    """Do a whole job: read the file, or hand the photos without boxes to parts; measure the run once it has all.

    Args:
        last: row key of the last photo that belongs to the run.

    Raises:
        Split: photos have no boxes yet; the job is called again when they have.
        Refused: the detector or the file cannot be had, or is another one than when the run began.
    """
    try:
        if not run.is_complete and run.detector.startswith(keep.FILE):
            _read_file(run, progress)
        elif not run.is_complete:
            _share_out(run, last, progress)
    except InvalidInput as error:
        raise Refused(str(error)) from error
    keep.complete_run(run=run)
    return measure_run(run=run, progress=progress)


def fill_part(*, run: ProposalRun, first: int, last: int, progress: Progress) -> None:
    """Find the boxes of a part: of the photos between two row keys, both inclusive, that have none.

    Raises:
        Refused: this machine's detector is another one than the run's; or photos cannot be read, which is said once
            all others have their boxes.
        Cancelled: somebody asked for it to stop; what was found stays.
    """
    try:
        _propose(run, list(stored.images_left(run, first=first, last=last)), progress)
    except InvalidInput as error:
        raise Refused(str(error)) from error


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


def _share_out(run: ProposalRun, last: int, progress: Progress) -> None:
    """Hand what is left to parts, if anything is; all of them use the detector that is found here and now."""
    left = list(stored.images_left(run, last=last).values_list("pk", flat=True))
    if not left:
        return
    _loaded.cache_clear()  # a folder's weights may be others than when this process last looked
    keep.store_facts(run=run, revision=_detector_of(run).revision)
    parts = _parts(run, left)
    progress.log(f"{len(left)} photos have no boxes yet; {len(parts)} parts")
    raise Split(task=PROPOSALS_PART, parts=parts, done=run.images)


def _parts(run: ProposalRun, left: Sequence[int]) -> list[Part]:
    cuts = [left[start : start + PART] for start in range(0, len(left), PART)]
    return [
        Part(
            title=f"Part {number} of {len(cuts)}",
            total=len(cut),
            args={"run": run.pk, "first": cut[0], "last": cut[-1]},
        )
        for number, cut in enumerate(cuts, start=1)
    ]


def _propose(run: ProposalRun, images: Sequence[Image], progress: Progress) -> None:
    total = progress.job.total
    done = max(0, total - len(images))
    progress.advance(done, total)
    if not images:
        return
    detector = _detector_of(run)
    if detector.revision[: keep.REVISION] != run.revision:
        raise Refused(
            f"run {run.pk}: this worker has {detector.name} {detector.revision}, and the run is of {run.revision}; "
            "give all workers the same, or start a new run"
        )

    def boxes_of(few: Sequence[Image]) -> tuple[dict[int, list[Row]], list[_Broken]]:
        keys, pictures, bad = _opened(few)
        found = detector.propose(pictures) if pictures else []
        return {key: one.rows() for key, one in zip(keys, found, strict=True)}, bad

    broken: list[_Broken] = []
    batches = (images[start : start + BATCH] for start in range(0, len(images), BATCH))
    # Only what promises that several threads may call it at once. Selective Search gains nothing: it is Python loops
    # over small arrays, which hold the interpreter's lock; its parts are for several workers.
    threads = usable_cores() if getattr(detector, "parallel", False) else 1
    with closing(in_threads(boxes_of, batches, threads=threads)) as batches_done:
        for rows, bad in batches_done:
            keep.store_found(run=run, found=rows)
            done = min(total, done + len(rows))
            progress.advance(done, total)
            for photo in bad[: max(0, LINES - len(broken))]:
                progress.log(photo.complaint)
            broken += bad
    if broken:
        raise Refused(_complaint(broken))


@dataclass(frozen=True, slots=True)
class _Broken:
    """A photo that cannot be read, and what to do about it."""

    name: str
    complaint: str


def _opened(images: Sequence[Image]) -> tuple[list[int], list[Pillow.Image], list[_Broken]]:
    """Return row keys and pixels of the photos that can be read, and those that cannot: they hinder no other."""
    keys, pictures, broken = [], [], []
    for image in images:
        try:
            picture = open_image(image)
        except Refused as error:
            broken.append(_Broken(image.name, str(error)))
        except _UNDECODABLE as error:
            mend = f"restore {image.file.name}"
            broken.append(_Broken(image.name, f"{image.name}: cannot be decoded ({error}); {mend}"))
        else:
            keys.append(image.pk)
            pictures.append(picture)
    return keys, pictures, broken


def _complaint(broken: Sequence[_Broken]) -> str:
    first = broken[0].complaint
    if len(broken) == 1:
        return first
    names = ", ".join(photo.name for photo in broken[:NAMED])
    more = f" and {len(broken) - NAMED} more" if len(broken) > NAMED else ""
    return f"{first}; {len(broken)} photos of this part cannot be read: {names}{more}; mend them and resume"


def _detector_of(run: ProposalRun) -> Detector:
    """The run's detector; where the loaded one is another, what lies in its place now.

    A model of the hub may move on under its id: a run keeps to the commit that it began with.
    """
    options = run.options
    name = options.get("detector", run.detector)  # the row's own name of it may be cut
    commit = run.revision if _COMMIT.fullmatch(run.revision) else ""
    wanted = _Wanted(name, options["limit"], options["suppress_over"], commit)
    found = _loaded(wanted)
    if run.revision in {"", found.revision[: keep.REVISION]}:
        return found
    _loaded.cache_clear()
    return _loaded(wanted)


@dataclass(frozen=True, slots=True)
class _Wanted:
    """A detector to load. Which commit it is of, the loaded one says itself, so that none is loaded twice."""

    name: str
    limit: int
    suppress_over: float | None
    commit: str = field(default="", compare=False)


@lru_cache(maxsize=1)
def _loaded(wanted: _Wanted) -> Detector:
    """One detector at a time stays loaded, for the next part."""
    return get_detector(
        wanted.name, limit=wanted.limit, suppress_over=wanted.suppress_over, revision=wanted.commit
    )


def _read_file(run: ProposalRun, progress: Progress) -> None:
    path = Path(run.options["file"])
    # It may have become a link that leads out since it was chosen: looked at again each time before it is opened.
    fence = Fence(run.options.get("within", ""))
    places = stored.by_address(run.project, image_url)
    fence.check(path)
    layout = _layout(run, path, places)
    fence.check(path)
    keep.store_facts(run=run, revision=_fingerprint(path), layout=layout.value)
    progress.log(f"{path.name}: four numbers of a box are read as {layout.value}")
    seen: set[int] = set()
    records = others = 0
    fence.check(path)
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
        return f"sha256:{file_sha256(path)}"
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


def _gold(pair: Pair) -> NDArray[np.int64]:
    return np.array([[box[side] for side in _BOX] for box in pair.boxes], dtype=np.int64)
