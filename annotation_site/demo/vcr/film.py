"""Write the drawn scenes as films with one shot for each scene. PyAV must be installed."""

from collections.abc import Sequence
from importlib.util import find_spec
from pathlib import Path

import numpy as np

from annotation_site.demo.vcr.scenes import HEIGHT, WIDTH, Scene

FRAMES_PER_SECOND = 8
SECONDS_PER_SCENE = 2
CAPTION_FILE_ENDING = ".srt"


def can_write_films() -> bool:
    """Return whether PyAV is installed (``make video``)."""
    return find_spec("av") is not None


def write_film(path: Path, scenes: Sequence[Scene]) -> None:
    """Write a film in which each scene is shown for two seconds, and a caption file beside it."""
    import av  # noqa: PLC0415 - optional

    with av.open(str(path), "w") as container:
        stream = container.add_stream("mpeg4", rate=FRAMES_PER_SECOND)
        stream.width, stream.height, stream.pix_fmt = WIDTH, HEIGHT, "yuv420p"
        stream.bit_rate = 4_000_000
        for scene in scenes:
            pixels = np.asarray(scene.picture)
            for _ in range(FRAMES_PER_SECOND * SECONDS_PER_SCENE):
                frame = av.VideoFrame.from_ndarray(pixels, format="rgb24")
                container.mux(stream.encode(frame))
        container.mux(stream.encode())
    path.with_suffix(CAPTION_FILE_ENDING).write_text(_captions(scenes), "utf-8")


def _captions(scenes: Sequence[Scene]) -> str:
    """Return SRT captions, one for each scene."""
    blocks = []
    for scene in scenes:
        start = scene.number * SECONDS_PER_SCENE
        names = ", ".join(found.name for found in scene.objects)
        times = f"{_srt_time(start)} --> {_srt_time(start + SECONDS_PER_SCENE)}"
        blocks.append(
            f"{scene.number + 1}\n{times}\nScene {scene.number + 1} at the {scene.film}: {names}.\n"
        )
    return "\n".join(blocks)


def _srt_time(seconds: int) -> str:
    return f"00:{seconds // 60:02d}:{seconds % 60:02d},000"
