"""Film clips: request the extraction of their frames, store clips and frames, and take clips down."""

from collections.abc import Mapping, Sequence
from dataclasses import asdict, dataclass
from pathlib import Path
from typing import Any

from django.contrib.auth.models import AbstractBaseUser
from django.db import transaction
from django.utils import timezone

from curation.models import Clip, Frame
from curation.selectors.jobs import EXTRACT_FRAMES
from curation.services.refusals import refuse_invalid_input
from curation.video.names import check_movie_name
from curation.video.shots import DEFAULT_EVERY, DEFAULT_THRESHOLD, ShotRule
from hits.models import Image, Job, Project
from hits.services import audit
from hits.services.errors import BadFile, Conflict, Refused
from hits.services.images import import_image, take_down
from hits.services.jobs import jobs

MAX_LICENCE_LENGTH = 120
MAX_ORIGIN_LENGTH = 300


@dataclass(frozen=True, slots=True)
class ExtractionSpec:
    """Which clips give frames, by which rule, and by which right they are used.

    path: a clip, or a folder of clips. licence, origin: stored with every frame, and required. movie: the film of
    all clips; if empty, names of LSMDC and folders say it. every, threshold, pixel_step: ``ShotRule``. captions: a
    file of LSMDC, an SRT or WebVTT file of the one clip, or a folder with a file for each clip. within: the folder
    that must contain all files, links resolved; empty allows all.
    """

    path: str
    licence: str
    origin: str
    movie: str = ""
    every: float | None = DEFAULT_EVERY
    threshold: float = DEFAULT_THRESHOLD
    pixel_step: int = 1
    captions: str = ""
    within: str = ""

    @property
    def rule(self) -> ShotRule:
        """How shots are found. Raises InvalidInput for impossible values."""
        return ShotRule(self.every, self.threshold, self.pixel_step)


@dataclass(frozen=True, slots=True)
class ClipIdentity:
    """What identifies a clip: its film and its name in the project, and its file."""

    project: Project
    movie: str
    name: str
    file_sha256: str


@dataclass(frozen=True, slots=True)
class NewFrame:
    """A frame to store; times are seconds from the start of the clip."""

    shot: int
    time: float
    start: float
    end: float
    captions: Sequence[str]
    prepared: import_image.PreparedImage


def request_extraction(
    *, project: Project, spec: ExtractionSpec, by: AbstractBaseUser | None = None, queue: bool = True
) -> Job:
    """Queue the extraction of frames; the worker must be able to read the path.

    Raises:
        Refused: licence, origin or file is missing, or the rule is impossible.
        Conflict: an extraction for this project is running.
    """
    _check_text("licence", spec.licence, MAX_LICENCE_LENGTH, "state by which right the frames are used")
    _check_text("source", spec.origin, MAX_ORIGIN_LENGTH, "state where the clips come from")
    with refuse_invalid_input():
        if spec.movie:
            check_movie_name(spec.movie)
        spec.rule  # noqa: B018 - refuses impossible values
    for name, path in (("clips", spec.path), ("captions", spec.captions)):
        if path and not Path(path).exists():
            raise Refused(f"{name}: {path} does not exist on this machine; check the path")
    return jobs.enqueue(
        task=EXTRACT_FRAMES,
        title=f"Extract frames of {Path(spec.path).name}"[:160],
        project=project,
        by=by,
        exclusive_key=f"frames:{project.pk}",
        resumable=True,
        queue=queue,
        options=asdict(spec),
    )


def find_clip(*, identity: ClipIdentity, spec: ExtractionSpec) -> Clip | None:
    """Return a clip's row, or ``None`` if the project does not have it.

    Raises:
        Refused: the project has another clip of this name, has its frames by other settings, or it was taken down.
    """
    clip = Clip.objects.filter(project=identity.project, movie=identity.movie, name=identity.name).first()
    if clip is None:
        return None
    if clip.file_sha256 != identity.file_sha256:
        raise Refused(f"{clip}: the project has another clip of this name; rename the file")
    if clip.taken_down_at is not None:
        raise Refused(f"{clip}: was taken down; put it back first")
    if clip.options != asdict(spec.rule):
        raise Refused(
            f"{clip}: has frames of other settings ({_describe_rule(clip.options)}); rename the file to have both"
        )
    return clip


@transaction.atomic
def start_clip(
    *, identity: ClipIdentity, spec: ExtractionSpec, by: AbstractBaseUser | None, job: Job
) -> Clip:
    """Return a clip's row, created if it is new; an earlier run's unfinished row is continued. Raises Refused."""
    return find_clip(identity=identity, spec=spec) or Clip.objects.create(
        project=identity.project,
        movie=identity.movie,
        name=identity.name,
        file_sha256=identity.file_sha256,
        licence=spec.licence,
        origin=spec.origin,
        options=asdict(spec.rule),
        created_by_id=by.pk if by else None,
        job=job,
    )


@transaction.atomic
def store_frames(*, clip: Clip, frames: Sequence[NewFrame]) -> list[int]:
    """Store some frames of a clip with their images; return the shots that were left out.

    A shot is left out if its picture is a frame of the project already. Stored shots are skipped.

    Raises:
        Refused: the clip was taken down, or a picture cannot be stored.
        StorageFull: the disk is full.
    """
    if Clip.objects.select_for_update().get(pk=clip.pk).taken_down_at is not None:
        raise Refused(f"{clip}: was taken down meanwhile; put it back first")
    shots = [frame.shot for frame in frames]
    known = set(Frame.objects.filter(clip=clip, shot__in=shots).values_list("shot", flat=True))
    new = [frame for frame in frames if frame.shot not in known]
    stored = import_image.store_images(project=clip.project, prepared=[frame.prepared for frame in new])
    images = [_image_or_refuse(found) for found in stored]
    used = set(Frame.objects.filter(image__in=images).values_list("image_id", flat=True))
    rows, repeated = [], []
    for frame, image in zip(new, images, strict=True):
        if image.pk in used:
            repeated.append(frame.shot)
            continue
        used.add(image.pk)
        rows.append(_make_frame(clip, frame, image))
    Frame.objects.bulk_create(rows)
    return repeated


@transaction.atomic
def complete_clip(*, clip: Clip, facts: Mapping[str, Any], by: AbstractBaseUser | None) -> None:
    """Store a clip's facts, and mark it as complete."""
    clip.facts, clip.is_complete = dict(facts), True
    clip.save(update_fields=["facts", "is_complete"])
    audit.record(
        project=clip.project,
        actor=by,
        action="clip.extract",
        subject=clip.pk,
        name=str(clip),
        frames=clip.frames.count(),
    )


@transaction.atomic
def take_down_clip(*, clip: Clip, reason: str, by: AbstractBaseUser | None) -> list[Image]:
    """Take a clip down with all of its frames; return the photos that were taken down.

    These have the clip's time of take-down, by which ``put_back_clip`` tells them from frames with a take-down of
    their own.

    Raises:
        Refused: the reason is empty or too long.
        Conflict: it is taken down already.
    """
    reason_text = take_down.clean_reason(reason)
    now = timezone.now()
    if not Clip.objects.filter(pk=clip.pk, taken_down_at=None).update(taken_down_at=now):
        raise Conflict(f"{clip}: is taken down already")
    clip.refresh_from_db()
    images = list(Image.objects.filter(frame__clip=clip, taken_down_at=None).order_by("pk"))
    for image in images:
        take_down.take_down_image(image=image, reason=reason_text, by=by, at=now)
    _record_take_down(clip, by, "clip.take_down", reason_text, len(images))
    return images


@transaction.atomic
def put_back_clip(*, clip: Clip, reason: str, by: AbstractBaseUser | None) -> int:
    """Put a clip back with the frames that were taken down with it; return their number.

    Frames with a take-down of their own, before or after the clip's, stay down.

    Raises:
        Refused: the reason is empty or too long.
        Conflict: it is not taken down.
    """
    reason_text = take_down.clean_reason(reason)
    taken_down_at = Clip.objects.select_for_update().get(pk=clip.pk).taken_down_at
    if taken_down_at is None:
        raise Conflict(f"{clip}: is not taken down")
    images = list(Image.objects.filter(frame__clip=clip, taken_down_at=taken_down_at).order_by("pk"))
    Clip.objects.filter(pk=clip.pk).update(taken_down_at=None)
    clip.refresh_from_db()
    for image in images:
        take_down.put_back_image(image=image, reason=reason_text, by=by)
    _record_take_down(clip, by, "clip.put_back", reason_text, len(images))
    return len(images)


def _check_text(name: str, text: str, max_length: int, purpose: str) -> None:
    if not text.strip():
        raise Refused(f"{name}: is missing; {purpose}")
    if len(text) > max_length:
        raise Refused(f"{name}: has {len(text)} characters; use at most {max_length}")


def _describe_rule(options: Mapping[str, Any]) -> str:
    every = "every frame" if options.get("every") is None else f"every {options['every']:g} s"
    return f"{every}, threshold {options.get('threshold', DEFAULT_THRESHOLD):g}"


def _image_or_refuse(found: tuple[Image, bool] | BadFile) -> Image:
    if isinstance(found, BadFile):
        raise found
    return found[0]


def _make_frame(clip: Clip, frame: NewFrame, image: Image) -> Frame:
    return Frame(
        clip=clip,
        image=image,
        shot=frame.shot,
        time_seconds=frame.time,
        start_seconds=frame.start,
        end_seconds=frame.end,
        captions=list(frame.captions),
    )


def _record_take_down(clip: Clip, by: AbstractBaseUser | None, action: str, reason: str, frames: int) -> None:
    audit.record(
        project=clip.project,
        actor=by,
        action=action,
        subject=clip.pk,
        name=str(clip),
        reason=reason,
        frames=frames,
    )
