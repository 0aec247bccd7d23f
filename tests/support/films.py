"""Films made on the spot with PyAV: flat colours with a moving square, cut at given times."""

import struct
from collections.abc import Callable, Iterator, Sequence
from fractions import Fraction
from pathlib import Path
from typing import Any

import numpy as np
import pytest
from numpy.typing import NDArray

CUTS = (3.0, 5.5, 9.5, 10.25)  # seconds
SECONDS, RATE = 14.0, 24
WIDTH, HEIGHT = 320, 180
# Neighbours differ by 40 and more, so that no codec decides about a cut at 30.
COLOURS = ((200, 30, 30), (230, 230, 235), (15, 25, 110), (250, 220, 40), (20, 90, 60))
LOSSLESS = {"codec": "ffv1", "pixels": "bgr0"}


def require_pyav() -> Any:
    """Return PyAV, or skip loudly."""
    return pytest.importorskip(
        "av", reason="PyAV is not installed (make video): tests of film clips are SKIPPED"
    )


def draw_frame(time: float, number: int, cuts: Sequence[float] = CUTS) -> NDArray[np.uint8]:
    """Return one picture of the film: (180, 320, 3)."""
    shot = sum(time >= cut for cut in cuts)
    pixels = np.empty((HEIGHT, WIDTH, 3), dtype=np.uint8)
    pixels[:] = COLOURS[shot % len(COLOURS)]
    left = number * 3 % (WIDTH - 40)
    pixels[70:110, left : left + 40] = (128, 128, 128)
    return pixels


def write_film(
    path: Path,
    *,
    codec: str = "mpeg4",
    pixels: str = "yuv420p",
    times: Sequence[float] | None = None,
    cuts: Sequence[float] = CUTS,
    seconds: float = SECONDS,
    codec_options: dict[str, str] | None = None,
    file_options: dict[str, str] | None = None,
) -> Path:
    """Write a film and return its path.

    Args:
        times: seconds of each frame, for a variable frame rate; default: 24 a second.
    """
    av = require_pyav()
    shown = [k / RATE for k in range(round(seconds * RATE))] if times is None else times
    with av.open(str(path), "w", options=file_options or {}) as container:
        stream = container.add_stream(codec, rate=RATE, options=codec_options or {})
        stream.width, stream.height, stream.pix_fmt = WIDTH, HEIGHT, pixels
        if times is not None:
            stream.time_base = stream.codec_context.time_base = Fraction(1, 1000)
        for number, time in enumerate(shown):
            frame = av.VideoFrame.from_ndarray(draw_frame(time, number, cuts), format="rgb24")
            if times is not None:
                frame.pts, frame.time_base = round(time * 1000), stream.time_base
            container.mux(stream.encode(frame))
        container.mux(stream.encode())
    return path


def decode_one_by_one(path: Path, change: Callable[[Any], Any] = lambda frame: frame) -> Iterator[Any]:
    """Yield all frames of a film, decoded from its start."""
    with require_pyav().open(str(path)) as container:
        yield from map(change, container.decode(video=0))


def turn_clockwise(path: Path) -> Path:
    """Write the display matrix of a quarter turn clockwise into the track header of an MP4 file, in place."""
    data = bytearray(path.read_bytes())
    start = data.index(b"tkhd") + 4 + 40  # version 0: the matrix follows ten fields of four bytes
    unity = struct.pack(">9i", 1 << 16, 0, 0, 0, 1 << 16, 0, 0, 0, 1 << 30)
    assert data[start : start + 36] == unity
    data[start : start + 36] = struct.pack(">9i", 0, 1 << 16, 0, -1 << 16, 0, 0, HEIGHT << 16, 0, 1 << 30)
    path.write_bytes(data)
    return path


def cut_off(path: Path, share: float) -> Path:
    """Return a copy of a file without its end."""
    data = path.read_bytes()
    short = path.with_name(f"short-{path.name}")
    short.write_bytes(data[: int(len(data) * share)])
    return short
