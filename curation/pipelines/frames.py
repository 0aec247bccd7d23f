"""Walk through film clips and decode the middle frames of their shots (Zellers et al. 2019 §B.1).

Only this module loads PyAV, and only inside functions: PyAV is an optional package. A clip is decoded frame by
frame; besides two decoded frames, only the times of the frames are in memory. All times come from the stream, so
the frame rate may vary.
"""

from array import array
from bisect import bisect_right
from collections.abc import Callable, Iterator, Sequence
from contextlib import contextmanager
from dataclasses import dataclass, field
from fractions import Fraction
from pathlib import Path
from typing import Any

import numpy as np
from django.conf import settings
from numpy.typing import NDArray
from PIL import Image as Pillow

from curation.records import InvalidInput
from curation.video.hsv import Pixels, frame_score, to_hsv
from curation.video.shots import MAX_SCORE, SampleClock, Shot, ShotRule, find_cuts, find_shots

INSTALL_HINT = "PyAV reads film clips and is not installed: run make video, or pip install av"
PROGRESS_EVERY = 1000  # frames
# Containers of films. Playlists and other formats that name further files are left out.
_FORMATS = "mov,mp4,m4a,3gp,3g2,mj2,matroska,webm,avi,mpeg,mpegts,ogg,flv,asf"
_SEEKABLE = {
    "mov",
    "matroska",
}  # their index leads to the key frame before a time; others are decoded through
_MIN_MISSING_SECONDS = 0.1  # by which a clip must be shorter than its header says to count as cut off
_MISSING_FRAMES = 1.5  # the same in frames
_ROTATIONS = {
    90: Pillow.Transpose.ROTATE_90,
    180: Pillow.Transpose.ROTATE_180,
    270: Pillow.Transpose.ROTATE_270,
}
ProgressCallback = Callable[[int], None]


class VideoUnavailable(InvalidInput):
    """PyAV is not installed; the message says how to install it."""


@dataclass(frozen=True, slots=True)
class ClipScan:
    """What a scan of a clip found.

    shots: in order. middle_stamps: presentation time stamps of their middle frames, in the stream's unit.
    middle_times: the same in seconds from the first frame. key_stamps: of the key frames, rising. facts: the size of
    upright frames, their number, rate and duration in seconds, and the names of the codec and of the container.
    """

    shots: Sequence[Shot]
    middle_stamps: Sequence[int]
    middle_times: Sequence[float]
    key_stamps: Sequence[int]
    facts: dict[str, Any]


def scan_clip(path: Path, rule: ShotRule, *, report_progress: ProgressCallback = lambda _: None) -> ClipScan:
    """Decode a clip once and find its shots.

    Args:
        report_progress: called regularly with the number of decoded frames; may raise to stop.

    Raises:
        InvalidInput: no clip, cut off, without a video stream or a frame, or its times run backwards.
        VideoUnavailable: PyAV is not installed.
    """
    with _open_stream(path) as (container, stream):
        scanner = _ClipScanner(path, stream, rule, report_progress)
        for packet in container.demux(stream):
            scanner.add_packet(packet)
            for frame in packet.decode():
                scanner.add_frame(frame)
        return scanner.finish(container)


def decode_frames(path: Path, stamps: Sequence[int], key_stamps: Sequence[int]) -> Iterator[Pillow.Image]:
    """Yield the upright RGB frames with these presentation time stamps, which must rise.

    Where the container has an index, decoding starts at the last key frame before each frame; the frame itself is
    always reached by decoding on, since the first frame after a jump is rarely the wanted one.

    Raises:
        InvalidInput: the clip has changed since its scan.
    """
    with _open_stream(path) as (container, stream):
        can_seek = not _SEEKABLE.isdisjoint(container.format.name.split(","))
        frames, reached = container.decode(stream), None
        for stamp in stamps:
            start = _last_at_or_before(key_stamps, stamp)
            if can_seek and start is not None and (reached is None or start > reached):
                container.seek(start, stream=stream)
                frames = container.decode(stream)
            frame = _decode_to(frames, stamp)
            if frame is None and can_seek:  # the index led behind the frame
                container.seek(key_stamps[0], stream=stream)
                frames = container.decode(stream)
                frame = _decode_to(frames, stamp)
            if frame is None:
                raise InvalidInput(
                    f"{path}: has no frame at its time stamp {stamp}; was it changed meanwhile?"
                )
            reached = stamp
            yield to_upright_picture(frame, stream.sample_aspect_ratio)


def to_upright_picture(frame: Any, pixel_ratio: Fraction | None = None) -> Pillow.Image:
    """Return a decoded frame as RGB, turned by the stream's rotation and with square pixels.

    pixel_ratio: width of a stored pixel by its height; absent means square.
    """
    picture = Pillow.fromarray(frame.to_ndarray(format="rgb24"))
    if pixel_ratio is not None and pixel_ratio > 0 and pixel_ratio != 1:
        width = max(1, round(picture.width * pixel_ratio))
        picture = picture.resize((width, picture.height), Pillow.Resampling.BICUBIC)
    rotation = _ROTATIONS.get(frame.rotation % 360)
    return picture if rotation is None else picture.transpose(rotation)


def load_pyav() -> Any:
    """Return the package ``av``. Raises VideoUnavailable if it is not installed."""
    try:
        import av
    except ImportError as error:
        raise VideoUnavailable(INSTALL_HINT) from error
    return av


@contextmanager
def _open_stream(path: Path) -> Iterator[tuple[Any, Any]]:
    """Yield a clip's container and its first video stream; errors of PyAV name the clip."""
    av = load_pyav()
    if not path.is_file():
        raise InvalidInput(f"{path}: there is no such clip; check its path")
    try:
        with av.open(
            str(path),
            options={"format_whitelist": _FORMATS, "protocol_whitelist": "file"},
            metadata_errors="ignore",
        ) as container:
            if not container.streams.video:
                raise InvalidInput(f"{path}: has no video stream; give a film clip")
            yield container, container.streams.video[0]
    except av.error.EOFError as error:
        raise InvalidInput(f"{path}: has no frame: it is empty or cut off; get it again") from error
    except av.error.FFmpegError as error:
        raise InvalidInput(
            f"{path}: cannot be decoded ({error.strerror}); it is cut off or no film clip, so get it again"
        ) from error


def _decode_to(frames: Iterator[Any], stamp: int) -> Any | None:
    """Return the frame with this time stamp; ``None`` if a later frame or the end comes first."""
    for frame in frames:
        if frame.pts is not None and frame.pts >= stamp:
            return frame if frame.pts == stamp else None
    return None


def _last_at_or_before(stamps: Sequence[int], stamp: int) -> int | None:
    index = bisect_right(stamps, stamp) - 1
    return stamps[index] if index >= 0 else None


@dataclass(slots=True)
class _ClipScanner:
    """The state of a scan: the times of all frames, and the scores of the compared ones."""

    path: Path
    stream: Any
    rule: ShotRule
    report_progress: ProgressCallback
    _stamps: "array[int]" = field(default_factory=lambda: array("q"))
    _keys: "array[int]" = field(default_factory=lambda: array("q"))
    _compared: "array[float]" = field(default_factory=lambda: array("d"))
    _scores: "array[float]" = field(default_factory=lambda: array("d"))
    _clock: SampleClock = field(init=False)
    _last_hsv: Pixels | None = None
    _last_duration: int = 0
    _upright_size: tuple[int, int] = (0, 0)
    _packets: int = 0
    _is_damaged: bool = False

    def __post_init__(self) -> None:
        self._clock = SampleClock(self.rule.every)

    def add_packet(self, packet: Any) -> None:
        """Note a packet's key frame, and whether it is complete. The last packet of a stream is empty."""
        self._packets += packet.size > 0
        self._is_damaged |= packet.is_corrupt
        if packet.is_keyframe and packet.pts is not None:
            self._keys.append(packet.pts)

    def add_frame(self, frame: Any) -> None:
        """Note a frame's time, and compare it with the last compared one if it is due."""
        if frame.pts is None:
            raise InvalidInput(
                f"{self.path}: frame {len(self._stamps)} has no time; save the clip as MP4 or MKV"
            )
        if self._stamps and frame.pts <= self._stamps[-1]:
            if frame.pts == self._stamps[-1]:  # shown for no time
                return
            raise InvalidInput(
                f"{self.path}: frame {len(self._stamps)} is earlier than the frame before; save the clip anew"
            )
        self._check_size(frame)
        self._stamps.append(frame.pts)
        self._last_duration = frame.duration or 0
        time = self._seconds(frame.pts)
        if self._clock.is_due(time):
            self._compare(frame, time)
        if len(self._stamps) == 1:
            self._upright_size = to_upright_picture(frame, self.stream.sample_aspect_ratio).size
        if len(self._stamps) % PROGRESS_EVERY == 0:
            self.report_progress(len(self._stamps))

    def finish(self, container: Any) -> ClipScan:
        """Return the shots; refuse a clip that is empty or cut off."""
        if not self._stamps:
            raise InvalidInput(f"{self.path}: has no frame; give a film clip")
        stamps = np.frombuffer(self._stamps, dtype=np.int64)
        gaps = np.diff(stamps)
        median_gap = float(np.median(gaps)) if len(gaps) else 0.0
        end = self._seconds(int(stamps[-1]) + (self._last_duration or round(median_gap)))
        self._check_complete(container, end, self._seconds(int(stamps[0]) + round(median_gap)))
        times = (stamps - stamps[0]) * float(self.stream.time_base)
        shots = find_shots(
            times.tolist(), end, find_cuts(self._compared, self._scores, self.rule.threshold).tolist()
        )
        middles = [shot.middle for shot in shots]
        return ClipScan(
            shots=shots,
            middle_stamps=[int(stamps[index]) for index in middles],
            middle_times=[float(times[index]) for index in middles],
            key_stamps=sorted(set(self._keys)),
            facts=self._facts(container, end, gaps),
        )

    def _check_size(self, frame: Any) -> None:
        """Refuse frames that no photo may have, before they fill the memory many times over."""
        width = frame.width * max(1, self.stream.sample_aspect_ratio or 1)
        if width * frame.height > settings.MAX_IMAGE_PIXELS:
            megapixels = settings.MAX_IMAGE_PIXELS // 10**6
            raise InvalidInput(
                f"{self.path}: its frames of {round(width)} × {frame.height} are too large; use {megapixels} "
                "megapixels or less"
            )

    def _compare(self, frame: Any, time: float) -> None:
        step = self.rule.pixel_step
        hsv = to_hsv(frame.to_ndarray(format="rgb24")[::step, ::step])
        if self._last_hsv is not None:
            # Frames of another size start a new shot.
            is_comparable = self._last_hsv.shape == hsv.shape
            self._scores.append(frame_score(self._last_hsv, hsv) if is_comparable else MAX_SCORE)
        self._compared.append(time)
        self._last_hsv = hsv

    def _seconds(self, stamp: int) -> float:
        """Return a time stamp in seconds from the first frame."""
        return float((stamp - self._stamps[0]) * self.stream.time_base)

    def _check_complete(self, container: Any, end: float, median_gap: float) -> None:
        """Refuse a clip that ends before its header says so. Containers without a length cannot be checked."""
        stated = _stated_seconds(container, self.stream)
        tolerance = max(_MIN_MISSING_SECONDS, _MISSING_FRAMES * median_gap)
        # FFmpeg states no length of an ASF file that is shorter than its header says.
        is_short_asf = stated is None and "asf" in container.format.name.split(",")
        is_short = is_short_asf or (stated is not None and end < stated - tolerance)
        if self._is_damaged or is_short or self._packets < self.stream.frames:
            of_stated = f" of {stated:.1f}" if stated is not None else ""
            raise InvalidInput(f"{self.path}: is cut off after {end:.1f}{of_stated} s; get the whole clip")

    def _facts(self, container: Any, end: float, gaps: NDArray[np.int64]) -> dict[str, Any]:
        width, height = self._upright_size
        return {
            "width": width,
            "height": height,
            "frames": len(self._stamps),
            "compared": len(self._compared),
            "seconds": round(end, 3),
            "frames_per_second": round(len(self._stamps) / end, 3) if end else None,
            # Containers with whole milliseconds round a constant distance up or down by one.
            "is_rate_constant": bool(len(gaps) == 0 or gaps.max() - gaps.min() <= 1),
            "codec": self.stream.codec_context.name,
            "container": container.format.name,
        }


def _stated_seconds(container: Any, stream: Any) -> float | None:
    """Return the duration that a clip's header states for its video; ``None`` if it states none.

    MP4 states it for each stream, MKV in a tag. The container's own duration includes sound, so it counts only if
    the video is alone.
    """
    if "mpegts" in container.format.name or "mpeg" in container.format.name.split(","):
        return None  # estimated from the file's end
    if stream.duration is not None:
        return float(stream.duration * stream.time_base)
    tag = stream.metadata.get("DURATION", "")
    try:
        hours, minutes, seconds = tag.split(":")
        return int(hours) * 3600 + int(minutes) * 60 + float(Fraction(seconds))
    except ValueError:
        pass
    is_alone = len(container.streams) == 1
    return container.duration / 1_000_000 if is_alone and container.duration is not None else None
