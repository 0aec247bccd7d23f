"""Captions of clips: read them, and find those around the time of a frame.

Workers see the captions around a frame (Zellers et al. 2019 §3, fig. 3): for LSMDC the sentences before, at and after
it, for clips of the web the description of the clip. LSMDC gives one file for all clips, with times of the film;
SRT, WebVTT and text files belong to one clip, with times of the clip.
"""

import html
import math
import re
from bisect import bisect_right
from collections.abc import Iterable, Iterator, Sequence
from dataclasses import dataclass, replace
from pathlib import Path

from curation.records import InvalidInput
from curation.video.names import parse_lsmdc_clip
from hits.domain.answers.text import shorten_text

MAX_CAPTION_LENGTH = 300  # characters that workers see of one caption
MAX_FILE_BYTES = 1 << 26
LSMDC_COLUMNS = ("CLIP_ID", "START_ALIGNED", "END_ALIGNED", "START_EXTRACTED", "END_EXTRACTED", "SENTENCE")
CLIP_SUFFIXES = (".srt", ".vtt", ".txt")  # of files that belong to one clip
_ARROW = "-->"
_LSMDC_TIME_PATTERN = re.compile(r"(\d+)\.(\d{1,2})\.(\d{1,2})\.(\d{3})")
_CUE_TIME_PATTERN = re.compile(r"(?:(\d+):)?(\d{1,2}):(\d{2})[.,](\d{1,3})")
_MARKUP_PATTERN = re.compile(r"<[^>]*>|\{\\[^}]*\}")
_VTT_SKIPPED = ("NOTE", "STYLE", "REGION")


@dataclass(frozen=True, slots=True)
class Caption:
    """A text that belongs to the seconds from ``start`` to ``end`` of a clip or film."""

    start: float
    end: float
    text: str


@dataclass(frozen=True, slots=True)
class SurroundingCaptions:
    """The nearest captions of a time; each may be absent."""

    before: Caption | None
    at: Caption | None
    after: Caption | None

    def texts(self) -> list[str]:
        """Return the texts in order, each of at most 300 characters."""
        found = (caption for caption in (self.before, self.at, self.after) if caption is not None)
        return [shorten_text(caption.text, MAX_CAPTION_LENGTH) for caption in found]


@dataclass(frozen=True, slots=True)
class LsmdcCaptions:
    """The captions of a file of LSMDC, in seconds of each film; ``starts`` has the start of each clip in its film."""

    by_movie: dict[str, list[Caption]]
    starts: dict[str, float]

    def of_clip(self, clip: str) -> list[Caption]:
        """Return all captions of a clip's film, in seconds of the clip; those before it have negative times.

        Raises:
            InvalidInput: the file does not have the clip's film.
        """
        named = parse_lsmdc_clip(clip)
        captions = self.by_movie.get(named[0]) if named else None
        if named is None or captions is None:
            raise InvalidInput(f"captions: no line is about the film of clip {clip!r}; check the clip's name")
        start = self.starts.get(clip, named[1])
        return [replace(item, start=item.start - start, end=item.end - start) for item in captions]


def find_surrounding(captions: Sequence[Caption], time: float) -> SurroundingCaptions:
    """Return the captions nearest before, at and after a time in seconds.

    ``at`` is the caption that started last among those that last at ``time``; ``before`` is the other caption that
    started last; ``after`` is the one that starts next.

    Args:
        captions: in order of their starts.
    """
    started = bisect_right([caption.start for caption in captions], time)
    lasting = [index for index in range(started) if captions[index].end >= time]
    at = lasting[-1] if lasting else None
    before = started - 2 if at == started - 1 else started - 1
    return SurroundingCaptions(
        before=captions[before] if before >= 0 else None,
        at=captions[at] if at is not None else None,
        after=captions[started] if started < len(captions) else None,
    )


def read_clip_captions(path: Path) -> list[Caption]:
    """Return the captions of a file that belongs to one clip: SRT, WebVTT, or a text that describes the whole clip.

    Raises:
        InvalidInput: the file cannot be read, or a time is wrong or runs backwards; the message names the line.
    """
    text = _read_text(path)
    if path.suffix.lower() == ".txt":
        description = _plain(text)
        return [Caption(0.0, math.inf, description)] if description else []
    lines = text.splitlines()
    is_vtt = path.suffix.lower() == ".vtt"
    if is_vtt and not (lines and lines[0].startswith("WEBVTT")):
        raise InvalidInput(f"{path}: line 1 does not start with WEBVTT; give a WebVTT file, or name it .srt")
    return _check_order(_parse_cues(path, lines, skips_notes=is_vtt), str(path))


def read_lsmdc_captions(path: Path) -> LsmdcCaptions:
    """Return the captions of LSMDC's file: lines of six columns separated by TAB, times as h.mm.ss.ms of the film.

    Raises:
        InvalidInput: the file cannot be read, or a line is malformed or runs backwards; the message names it.
    """
    rows: dict[str, list[tuple[int, Caption]]] = {}
    starts: dict[str, float] = {}
    for number, line in enumerate(_read_text(path).splitlines(), start=1):
        cells = line.split("\t")
        if not line.strip() or (number == 1 and cells[0].strip() == LSMDC_COLUMNS[0]):
            continue
        where = f"{path}: line {number}"
        if len(cells) != len(LSMDC_COLUMNS):
            raise InvalidInput(
                f"{where}: has {len(cells)} columns; LSMDC has {len(LSMDC_COLUMNS)}, separated by TAB"
            )
        clip = cells[0].strip()
        named = parse_lsmdc_clip(clip)
        if named is None:
            raise InvalidInput(
                f"{where}: CLIP_ID {clip[:60]!r} does not end with two times; give LSMDC's file"
            )
        start, end, extracted = (
            _parse_lsmdc_time(cells[column], f"{where}: {LSMDC_COLUMNS[column]}") for column in (1, 2, 3)
        )
        rows.setdefault(named[0], []).append((number, Caption(start, end, _plain(cells[5]))))
        starts.setdefault(clip, extracted)
    if not rows:
        raise InvalidInput(f"{path}: has no caption; give LSMDC's annotation file, SRT or WebVTT")
    return LsmdcCaptions({movie: _check_order(found, str(path)) for movie, found in rows.items()}, starts)


def _read_text(path: Path) -> str:
    try:
        if path.stat().st_size > MAX_FILE_BYTES:
            raise InvalidInput(f"{path}: is larger than {MAX_FILE_BYTES >> 20} MiB; give a file of captions")
        return path.read_text("utf-8-sig")
    except OSError as error:
        raise InvalidInput(f"{path}: cannot be read ({error.strerror}); check its name") from error
    except UnicodeDecodeError as error:
        raise InvalidInput(f"{path}: is not UTF-8 text; save it as UTF-8") from error


def _parse_cues(path: Path, lines: Sequence[str], *, skips_notes: bool) -> Iterator[tuple[int, Caption]]:
    """Yield the cues with the numbers of their lines of times. Blocks are separated by empty lines."""
    number = 0
    while number < len(lines):
        block_start = number
        while number < len(lines) and lines[number].strip():
            number += 1
        block = lines[block_start:number]
        number += 1
        if skips_notes and block and block[0].split(" ")[0].strip() in _VTT_SKIPPED:
            continue
        at = next((index for index, line in enumerate(block[:2]) if _ARROW in line), None)
        if at is None:
            if block and not (skips_notes and block_start == 0) and not block[0].strip().isdecimal():
                raise InvalidInput(f"{path}: line {block_start + 1} has no times; write start {_ARROW} end")
            continue
        where = f"{path}: line {block_start + at + 1}"
        start, end = (_parse_cue_time(side, where) for side in block[at].split(_ARROW, 1))
        text = _plain(" ".join(block[at + 1 :]))
        if text:
            yield block_start + at + 1, Caption(start, end, text)


def _parse_cue_time(text: str, where: str) -> float:
    # Settings of the cue, such as align:start, may follow its end.
    found = _CUE_TIME_PATTERN.fullmatch((text.split() or [""])[0])
    if found is None:
        raise InvalidInput(
            f"{where}: {text.strip()[:40]!r} is no time; write hours:minutes:seconds,milliseconds"
        )
    hours, minutes, seconds, fraction = found.groups()
    return _to_seconds(int(hours or 0), int(minutes), int(seconds), fraction)


def _parse_lsmdc_time(text: str, where: str) -> float:
    found = _LSMDC_TIME_PATTERN.fullmatch(text.strip())
    if found is None:
        raise InvalidInput(f"{where} is {text.strip()[:40]!r}; write h.mm.ss.ms")
    hours, minutes, seconds, fraction = found.groups()
    return _to_seconds(int(hours), int(minutes), int(seconds), fraction)


def _to_seconds(hours: int, minutes: int, seconds: int, milliseconds: str) -> float:
    whole = (hours * 60 + minutes) * 60 + seconds
    return (whole * 1000 + int(milliseconds.ljust(3, "0"))) / 1000


def _plain(text: str) -> str:
    """Return a caption's text in one line, without markup."""
    plain = html.unescape(_MARKUP_PATTERN.sub("", text)).replace("\x00", "")
    return " ".join(plain.encode("utf-8", "replace").decode().split())


def _check_order(numbered: Iterable[tuple[int, Caption]], path: str) -> list[Caption]:
    """Return the captions; their starts must not run backwards, nor any end lie before its start.

    numbered: with the line of each caption.
    """
    captions: list[Caption] = []
    for number, caption in numbered:
        if caption.end < caption.start:
            raise InvalidInput(
                f"{path}: line {number} ends at {caption.end:g} s, before its start at {caption.start:g} s; "
                "correct its times"
            )
        if captions and caption.start < captions[-1].start:
            raise InvalidInput(
                f"{path}: line {number} starts at {caption.start:g} s, before the caption above it at "
                f"{captions[-1].start:g} s; sort the captions by time"
            )
        captions.append(caption)
    return captions
