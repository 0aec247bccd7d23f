"""Run a detector over photos: load the one that a run started with, open the photos, store what it finds."""

import re
from collections.abc import Callable, Mapping, Sequence
from contextlib import closing
from dataclasses import dataclass, field
from functools import lru_cache

from PIL import Image as Pillow

from curation.cores import usable_cores
from curation.features.parallel import map_in_threads
from curation.models import DetectionRun, ProposalRun
from curation.proposals.detector import DetectedBoxes, Detector
from curation.proposals.factory import get_detector
from curation.services.image_files import open_image
from curation.services.proposals import MAX_REVISION_LENGTH
from hits.models import Image
from hits.services.errors import Refused
from hits.services.jobs.jobs import Progress

BATCH_SIZE = 8  # photos between two steps
MAX_PHOTOS_LOGGED = 20  # unreadable photos with a log line each, per job
MAX_PHOTOS_NAMED = 5  # unreadable photos in the error message of a job
_COMMIT_PATTERN = re.compile(r"[0-9a-f]{40}")  # only revisions of hub models match
_DECODING_ERRORS = (
    Pillow.DecompressionBombError,
    SyntaxError,
    ValueError,
    EOFError,
)  # Pillow's errors besides OSError
Store = Callable[[Mapping[int, DetectedBoxes]], None]
"""Stores the boxes of some photos by row key."""


def run_detector(run: ProposalRun | DetectionRun) -> Detector:
    """Return the run's detector; if the loaded one has another revision, load it again.

    A hub model may change under its id: a run keeps the commit that it started with.
    """
    options = run.options
    request = DetectorRequest(
        name=options.get("detector", run.detector),  # the row's column may have cut the name
        limit=options["limit"],
        suppress_over=options["suppress_over"],
        min_score=options.get("min_score", 0.0),
        commit=run.revision if _COMMIT_PATTERN.fullmatch(run.revision) else "",
    )
    loaded = load_detector(request)
    if run.revision in {"", loaded.revision[:MAX_REVISION_LENGTH]}:
        return loaded
    load_detector.cache_clear()
    return load_detector(request)


def checked_run_detector(run: ProposalRun | DetectionRun) -> Detector:
    """Return the run's detector.

    Raises:
        Refused: this process has another revision than the one with which the run started.
    """
    detector = run_detector(run)
    if detector.revision[:MAX_REVISION_LENGTH] != run.revision:
        raise Refused(
            f"run {run.pk}: this worker process has {detector.name} {detector.revision}, "
            f"but the run started with {run.revision}; give all processes the same model, or start a new run"
        )
    return detector


def find_in_photos(detector: Detector, images: Sequence[Image], store: Store, progress: Progress) -> None:
    """Find the boxes of photos and store them, some photos at a time; the job's total counts photos.

    Raises:
        Refused: photos are unreadable; raised after all others have their boxes.
        Cancelled: the job was cancelled; found boxes are stored.
    """
    total = progress.job.total
    done = max(0, total - len(images))
    unreadable: list[_UnreadablePhoto] = []

    def detect(batch: Sequence[Image]) -> tuple[dict[int, DetectedBoxes], list[_UnreadablePhoto]]:
        keys, pictures, unreadable_batch = _open_photos(batch)
        found = detector.propose(pictures) if pictures else []
        return dict(zip(keys, found, strict=True)), unreadable_batch

    batches = (images[start : start + BATCH_SIZE] for start in range(0, len(images), BATCH_SIZE))
    # Only thread-safe detectors. Selective Search would gain nothing: its Python loops over small arrays hold the
    # interpreter's lock; its sub-jobs can run on several workers.
    threads = usable_cores() if getattr(detector, "parallel", False) else 1
    with closing(map_in_threads(detect, batches, threads=threads)) as batches_done:
        for found, unreadable_batch in batches_done:
            store(found)
            done = min(total, done + len(found))
            progress.advance(done, total)
            for photo in unreadable_batch[: max(0, MAX_PHOTOS_LOGGED - len(unreadable))]:
                progress.log(photo.problem)
            unreadable += unreadable_batch
    if unreadable:
        raise Refused(_describe_unreadable(unreadable))


@dataclass(frozen=True, slots=True)
class DetectorRequest:
    """A detector to load. Requests that differ in the commit only are equal, so no detector is loaded twice."""

    name: str
    limit: int
    suppress_over: float | None
    min_score: float = 0.0
    commit: str = field(default="", compare=False)


@lru_cache(maxsize=1)
def load_detector(request: DetectorRequest) -> Detector:
    """Load a detector; the last one stays loaded for the next job."""
    return get_detector(
        request.name,
        limit=request.limit,
        suppress_over=request.suppress_over,
        revision=request.commit,
        min_score=request.min_score,
    )


@dataclass(frozen=True, slots=True)
class _UnreadablePhoto:
    """An unreadable photo, and how to fix it."""

    name: str
    problem: str


def _open_photos(images: Sequence[Image]) -> tuple[list[int], list[Pillow.Image], list[_UnreadablePhoto]]:
    """Return row keys and pixels of the readable photos, and the unreadable photos."""
    keys, pictures, unreadable = [], [], []
    for image in images:
        try:
            picture = open_image(image)
        except Refused as error:
            unreadable.append(_UnreadablePhoto(image.name, str(error)))
        except _DECODING_ERRORS as error:
            hint = f"restore {image.file.name}"
            problem = f"{image.name}: cannot be decoded ({error}); {hint}"
            unreadable.append(_UnreadablePhoto(image.name, problem))
        else:
            keys.append(image.pk)
            pictures.append(picture)
    return keys, pictures, unreadable


def _describe_unreadable(unreadable: Sequence[_UnreadablePhoto]) -> str:
    first = unreadable[0].problem
    if len(unreadable) == 1:
        return first
    names = ", ".join(photo.name for photo in unreadable[:MAX_PHOTOS_NAMED])
    rest = f" and {len(unreadable) - MAX_PHOTOS_NAMED} more" if len(unreadable) > MAX_PHOTOS_NAMED else ""
    return f"{first}; {len(unreadable)} photos of this job cannot be read: {names}{rest}; fix them and resume"
