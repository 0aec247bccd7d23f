"""Names of clips and of their frames, as the published collection has them.

A frame is ``<movie>/<clip>@<n>.jpg`` below ``vcr1images``; n counts the clip's shots from 0 (readme of VCR 1.0;
the sources do not say how n counts). Clips of LSMDC carry their times within the film in their names.
"""

import re

from curation.records import MAX_MOVIE_LENGTH, InvalidInput

MAX_CLIP_LENGTH = 180
LSMDC_PREFIX = "lsmdc_"  # of the published folders of films
SHOT_MARK = "@"
_LSMDC_TIME = r"(\d{1,2})\.(\d{2})\.(\d{2})\.(\d{3})"
_LSMDC_CLIP_PATTERN = re.compile(rf"(?P<movie>.+)_{_LSMDC_TIME}-{_LSMDC_TIME}")
_FORBIDDEN_PATTERN = re.compile(r"[/\\@\x00-\x1f]")


def frame_name(clip: str, shot: int) -> str:
    """Return the name of a shot's frame: ``<clip>@<n>.jpg``."""
    return f"{clip}{SHOT_MARK}{shot}.jpg"


def frame_path(movie: str, clip: str, shot: int) -> str:
    """Return the path of a shot's frame below the folder of images."""
    return f"{movie}/{frame_name(clip, shot)}"


def parse_lsmdc_clip(clip: str) -> tuple[str, float, float] | None:
    """Return the film of an LSMDC clip, and its start and end in seconds of the film; ``None`` for other names."""
    found = _LSMDC_CLIP_PATTERN.fullmatch(clip)
    if found is None:
        return None
    numbers = [int(part) for part in found.groups()[1:]]
    return found["movie"], _seconds(*numbers[:4]), _seconds(*numbers[4:])


def check_movie_name(movie: str) -> str:
    """Return a film's name unchanged.

    Raises:
        InvalidInput: it cannot be a folder's name, or is too long.
    """
    return _check_name("movie", movie, MAX_MOVIE_LENGTH)


def check_clip_name(clip: str) -> str:
    """Return a clip's name unchanged.

    Raises:
        InvalidInput: it cannot be part of a file's name, or is too long.
    """
    return _check_name("clip", clip, MAX_CLIP_LENGTH)


def _check_name(label: str, name: str, max_length: int) -> str:
    if not name.strip() or name in {".", ".."} or name != name.strip():
        raise InvalidInput(
            f"{label}: {name!r} is no name; give letters, digits, dots, hyphens and underscores"
        )
    if _FORBIDDEN_PATTERN.search(name):
        raise InvalidInput(f"{label}: {name[:60]!r} has a slash, an @ or a control character; leave it out")
    if len(name) > max_length:
        raise InvalidInput(f"{label}: {name[:40]!r}… has {len(name)} characters; use at most {max_length}")
    return name


def _seconds(hours: int, minutes: int, seconds: int, milliseconds: int) -> float:
    return (hours * 3_600_000 + minutes * 60_000 + seconds * 1000 + milliseconds) / 1000
