"""Cuts, shots and middle frames of a clip, from the times of its frames and the scores between them.

Zellers et al. 2019 §B.1 sample one frame per second; shot detectors compare every frame. Both are
offered: scores lie between consecutive *compared* frames, which are all frames or samples of them.
"""

from collections.abc import Sequence
from dataclasses import dataclass

import numpy as np
from numpy.typing import NDArray

from curation.records import InvalidInput

EVERY_FRAME = "frame"
DEFAULT_EVERY = 1.0  # seconds between compared frames (Zellers et al. 2019 §B.1)
DEFAULT_THRESHOLD = 30.0  # mean difference in HSV (same section)
TIME_TOLERANCE = 1e-6  # seconds: times are quotients of integers, rounded to floats
MAX_SCORE = 255.0


@dataclass(frozen=True, slots=True)
class ShotRule:
    """How shots are found.

    every: seconds between compared frames; ``None`` compares each frame with the one before. threshold: the score
    from which two compared frames belong to different shots. pixel_step: 1 compares all pixels, n each n-th row and
    column, which takes a n²-th of the time.
    """

    every: float | None = DEFAULT_EVERY
    threshold: float = DEFAULT_THRESHOLD
    pixel_step: int = 1

    def __post_init__(self) -> None:
        if self.every is not None and not 0 < self.every < np.inf:
            raise InvalidInput(f"every: {self.every:g} is no number of seconds above 0; use 1, or frame")
        if not 0 < self.threshold <= MAX_SCORE:
            raise InvalidInput(f"threshold: {self.threshold:g} is not within 0 to 255; Zellers et al. use 30")
        if self.pixel_step < 1:
            raise InvalidInput(f"pixel step: {self.pixel_step} is below 1; use 1 to compare all pixels")


@dataclass(frozen=True, slots=True)
class Shot:
    """A shot: ``[start, end)`` in seconds, and the index of its middle frame among all frames of the clip."""

    start: float
    end: float
    middle: int


def parse_every(text: str) -> float | None:
    """Return the seconds between compared frames of a command line: a number, or ``frame`` for ``None``.

    Raises:
        InvalidInput: neither of them.
    """
    if text.strip().lower() == EVERY_FRAME:
        return None
    try:
        return float(text)
    except ValueError as error:
        raise InvalidInput(f"every: {text!r} is neither {EVERY_FRAME} nor a number of seconds") from error


class SampleClock:
    """Says which frames of a stream are compared: the first frame at or after each multiple of ``every`` seconds.

    Frames may come at any distance, so a frame may stand for several multiples, and a multiple for no frame of its
    own.
    """

    def __init__(self, every: float | None) -> None:
        self._every = every
        self._next = 0

    def is_due(self, time: float) -> bool:
        """Return whether the frame at ``time`` seconds after the first is compared. Times must rise."""
        if self._every is None:
            return True
        if time < self._next * self._every - TIME_TOLERANCE:
            return False
        self._next = int(np.floor((time + TIME_TOLERANCE) / self._every)) + 1
        return True


def find_cuts(times: Sequence[float], scores: Sequence[float], threshold: float) -> NDArray[np.float64]:
    """Return the times at which a new shot starts: (c,), in seconds, rising.

    Args:
        times: (n,) seconds of the compared frames.
        scores: (n - 1,) scores of each compared frame with the one before.
        threshold: a score of at least this is a cut.
    """
    later = np.asarray(times, dtype=np.float64)[1:]
    return later[np.asarray(scores, dtype=np.float64) >= threshold]


def find_shots(frame_times: Sequence[float], end: float, cuts: Sequence[float]) -> list[Shot]:
    """Return the shots between cuts, with the frame nearest to the middle of each.

    A shot's middle frame lies within the shot. Of two frames equally near, the earlier one is taken.

    Args:
        frame_times: (n,) seconds of all frames, rising, n > 0.
        end: seconds at which the last frame ends.
        cuts: seconds at which a new shot starts, each the time of a frame.
    """
    times = np.asarray(frame_times, dtype=np.float64)
    starts = [float(times[0]), *(float(cut) for cut in cuts)]
    ends = [*starts[1:], float(end)]
    return [
        Shot(start, stop, _middle_frame(times, start, stop)) for start, stop in zip(starts, ends, strict=True)
    ]


def _middle_frame(times: NDArray[np.float64], start: float, end: float) -> int:
    first, behind = np.searchsorted(times, [start - TIME_TOLERANCE, end - TIME_TOLERANCE])
    distances = np.abs(times[first:behind] - (start + end) / 2)
    # Float noise must not decide between two frames that are equally near.
    return int(first + np.flatnonzero(distances <= distances.min() + TIME_TOLERANCE)[0])
