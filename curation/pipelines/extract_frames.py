"""The job that extracts frames: find a folder's clips and captions, scan each clip, store its frames.

Each clip is checked as a whole before any of its frames is stored. A job that was stopped continues with the clip
at which it stopped, and frames that are stored are not stored again.
"""

import io
from collections.abc import Callable, Iterator, Sequence
from dataclasses import dataclass, field
from itertools import islice
from pathlib import Path
from typing import Any

from django.contrib.auth.models import AbstractBaseUser
from PIL import Image as Pillow

from curation.files import file_sha256
from curation.models import Clip
from curation.pipelines.frames import ClipScan, decode_frames, load_pyav, scan_clip
from curation.records import InvalidInput
from curation.services import frames as services
from curation.services.frames import ExtractionSpec, NewFrame
from curation.services.refusals import refuse_invalid_input
from curation.sources.clips import find_clip_files
from curation.sources.path_sandbox import PathSandbox
from curation.video.captions import (
    CLIP_SUFFIXES,
    Caption,
    find_surrounding,
    read_clip_captions,
    read_lsmdc_captions,
)
from curation.video.names import LSMDC_PREFIX, check_clip_name, check_movie_name, frame_name, parse_lsmdc_clip
from hits.models import Project
from hits.services.errors import JobCannotStart, Refused
from hits.services.images import import_image
from hits.services.jobs.jobs import Progress

FRAMES_PER_STEP = 16
JPEG_QUALITY = 95
MAX_PROBLEMS_NAMED = 3
CaptionReader = Callable[[], Sequence[Caption]]


@dataclass(frozen=True, slots=True)
class PlannedClip:
    """A clip to extract. ``read_captions`` returns its captions in seconds of the clip, sorted."""

    path: Path
    movie: str
    name: str
    read_captions: CaptionReader


@dataclass(slots=True)
class _Counts:
    """What a job has done so far, also before it was stopped; the cursor stores it."""

    clips: int = 0
    known: int = 0
    frames: int = 0
    repeated: int = 0
    problems: list[str] = field(default_factory=list)

    def as_json(self) -> dict[str, Any]:
        return {"clips": self.clips, "known": self.known, "frames": self.frames, "repeated": self.repeated}


def extract_frames(
    *, project: Project, spec: ExtractionSpec, by: AbstractBaseUser | None, progress: Progress
) -> dict[str, Any]:
    """Extract the frames of one or more clips; return the counts of clips, frames and repeated pictures.

    Raises:
        JobCannotStart: PyAV is missing, the names or captions are wrong, or no clip can be used; nothing was stored.
        Refused: some clips cannot be used; the message names them, and all others have their frames.
        Cancelled: the job was cancelled; it can be resumed.
    """
    try:
        load_pyav()
        planned = plan_clips(spec)
    except InvalidInput as error:
        raise JobCannotStart(str(error)) from error
    counts = _Counts()
    progress.log(f"{len(planned)} clip{'' if len(planned) == 1 else 's'} to scan")
    for position, clip in enumerate(planned):
        progress.advance(position, len(planned))
        try:
            with refuse_invalid_input():
                _extract_clip(_Work(project, spec, by, progress, counts), clip, position, len(planned))
        except Refused as error:
            counts.problems.append(str(error))
            progress.log(f"Skipped: {error}")
    progress.advance(len(planned), len(planned))
    _refuse_problems(counts)
    return counts.as_json()


def plan_clips(spec: ExtractionSpec) -> list[PlannedClip]:
    """Return the clips with their films, names and captions.

    Raises:
        InvalidInput: no clip, a clip without a film, two clips of one name, or captions that cannot be used.
    """
    sandbox = PathSandbox(spec.within)
    for given in (spec.path, spec.captions):
        if given:
            sandbox.check(Path(given))
    root = Path(spec.path)
    files = find_clip_files(root)
    captions = _caption_readers(spec, files, sandbox)
    planned: dict[tuple[str, str], PlannedClip] = {}
    for path in files:
        sandbox.check(path)
        name, movie = check_clip_name(path.stem), _movie_of(spec, root, path)
        if (movie, name) in planned:
            raise InvalidInput(f"{path}: {movie} has a clip {name} already; rename one of the files")
        planned[movie, name] = PlannedClip(path, movie, name, captions(path))
    return list(planned.values())


def _movie_of(spec: ExtractionSpec, root: Path, path: Path) -> str:
    """Return a clip's film: as given, of its LSMDC name, or of its folder below the given one."""
    if spec.movie:
        return check_movie_name(spec.movie)
    lsmdc = parse_lsmdc_clip(path.stem)
    if lsmdc is not None:
        movie = f"{LSMDC_PREFIX}{lsmdc[0]}"
    elif root.is_dir() and path.parent != root:
        movie = path.relative_to(root).parts[0]
    else:
        raise InvalidInput(
            f"{path}: nothing says which film it is from; give --movie, or put it into the film's folder"
        )
    try:
        return check_movie_name(movie)
    except InvalidInput as error:
        raise InvalidInput(f"{path}: {error}; rename the file or its folder, or give --movie") from error


def _caption_readers(
    spec: ExtractionSpec, files: Sequence[Path], sandbox: PathSandbox
) -> Callable[[Path], CaptionReader]:
    """Return a function that gives each clip the reader of its captions. All captions are checked now."""
    if not spec.captions:
        return lambda _: list
    given = Path(spec.captions)
    if given.is_dir():
        by_clip = {path: _beside(given, Path(spec.path), path, sandbox) for path in files}
        if not any(by_clip.values()):
            raise InvalidInput(
                f"{given}: has no captions; name them like the clips, with {', '.join(CLIP_SUFFIXES)}"
            )
        for found in filter(None, by_clip.values()):
            read_clip_captions(found)
        return lambda path: lambda: read_clip_captions(found) if (found := by_clip[path]) else []
    if given.suffix.lower() in CLIP_SUFFIXES:
        if len(files) > 1:
            raise InvalidInput(
                f"{given}: belongs to one clip, and there are {len(files)}; give a folder of captions"
            )
        only = read_clip_captions(given)
        return lambda _: lambda: only
    lsmdc = read_lsmdc_captions(given)
    for path in files:
        lsmdc.of_clip(path.stem)
    return lambda path: lambda: lsmdc.of_clip(path.stem)


def _beside(folder: Path, root: Path, clip: Path, sandbox: PathSandbox) -> Path | None:
    """Return the file of captions that is named like a clip, in the same folder below the root or in ``folder``."""
    same = [folder / clip.relative_to(root).parent] if root.is_dir() else []
    candidates = (parent / f"{clip.stem}{suffix}" for parent in (*same, folder) for suffix in CLIP_SUFFIXES)
    found = next((path for path in candidates if path.is_file()), None)
    if found is not None:
        sandbox.check(found)
    return found


@dataclass(frozen=True, slots=True)
class _Work:
    """What all clips of a job share."""

    project: Project
    spec: ExtractionSpec
    by: AbstractBaseUser | None
    progress: Progress
    counts: _Counts


def _extract_clip(work: _Work, planned: PlannedClip, position: int, total: int) -> None:
    def report_progress(_: int) -> None:
        work.progress.advance(position, total)

    PathSandbox(work.spec.within).check(planned.path)
    sha256 = file_sha256(planned.path)
    identity = services.ClipIdentity(work.project, planned.movie, planned.name, sha256)
    known = services.find_clip(identity=identity, spec=work.spec)
    if known is not None and known.is_complete:
        work.counts.known += 1
        return
    scan = scan_clip(planned.path, work.spec.rule, report_progress=report_progress)
    clip = services.start_clip(identity=identity, spec=work.spec, by=work.by, job=work.progress.job)
    repeated: list[int] = []
    decoded = _decode_new_frames(clip, planned, scan)
    while frames := list(islice(decoded, FRAMES_PER_STEP)):
        repeated += services.store_frames(clip=clip, frames=frames)
        report_progress(0)
    facts = scan.facts | {"shots": len(scan.shots), "repeated_shots": repeated}
    services.complete_clip(clip=clip, facts=facts, by=work.by)
    work.counts.clips += 1
    work.counts.frames += len(scan.shots) - len(repeated)
    work.counts.repeated += len(repeated)
    work.progress.log(f"{clip}: {len(scan.shots)} shots, {scan.facts['seconds']:.1f} s")


def _decode_new_frames(clip: Clip, planned: PlannedClip, scan: ClipScan) -> Iterator[NewFrame]:
    """Yield the frames of the shots that have none yet, in order."""
    known = set(clip.frames.values_list("shot", flat=True))
    shots = [shot for shot in range(len(scan.shots)) if shot not in known]
    captions = planned.read_captions()
    stamps = [scan.middle_stamps[shot] for shot in shots]
    description = import_image.ImageDescription(licence=clip.licence, credit=clip.origin)
    for shot, picture in zip(shots, decode_frames(planned.path, stamps, scan.key_stamps), strict=True):
        time = scan.middle_times[shot]
        file = import_image.IncomingFile(frame_name(clip.name, shot), _to_jpeg(picture), description)
        yield NewFrame(
            shot=shot,
            time=time,
            start=scan.shots[shot].start,
            end=scan.shots[shot].end,
            captions=find_surrounding(captions, time).texts(),
            prepared=import_image.prepare_image(file, known=()),
        )


def _to_jpeg(picture: Pillow.Image) -> bytes:
    buffer = io.BytesIO()
    picture.save(buffer, "JPEG", quality=JPEG_QUALITY, subsampling=0)
    return buffer.getvalue()


def _refuse_problems(counts: _Counts) -> None:
    """Refuse the clips that cannot be used, after all others."""
    if not counts.problems:
        return
    message = "; ".join(counts.problems[:MAX_PROBLEMS_NAMED])
    if len(counts.problems) > MAX_PROBLEMS_NAMED:
        message += f"; and {len(counts.problems) - MAX_PROBLEMS_NAMED} more clips, named in the job’s log"
    if counts.clips or counts.known:
        raise Refused(message)
    raise JobCannotStart(message)
