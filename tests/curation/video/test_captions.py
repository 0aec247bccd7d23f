"""Captions of LSMDC, SRT, WebVTT and texts, and those around a time."""

import math
from pathlib import Path

import pytest

from curation.records import InvalidInput
from curation.video.captions import (
    Caption,
    find_surrounding,
    read_clip_captions,
    read_lsmdc_captions,
)

LSMDC = (
    "7_Moor_00.00.10.000-00.00.12.500\t0.00.10.000\t0.00.12.500\t0.00.09.500\t0.00.13.000\tSomeone opens a gate.\n"
    "7_Moor_00.00.20.000-00.00.23.000\t0.00.20.000\t0.00.23.000\t0.00.19.750\t0.00.23.000\tA dog runs out.\n"
    "8_Hall_00.00.01.000-00.00.03.000\t0.00.01.000\t0.00.03.000\t0.00.01.000\t0.00.03.000\tSomeone sits down.\n"
    "7_Moor_01.02.03.004-01.02.05.000\t1.02.03.004\t1.02.05.000\t1.02.03.000\t1.02.05.000\tSomeone runs.\n"
)
SRT = """1
00:00:01,000 --> 00:00:02,500
<i>Hello</i>
there.

2
00:00:04,000 --> 00:00:05,000
{\\an8}Tom &amp; Jerry

"""
VTT = """WEBVTT - made up
Kind: captions

NOTE
this is
no caption

STYLE
::cue { color: red }

intro
00:01.000 --> 00:02.500 align:start position:0%
<v Ann>Hello there.

01:00:04.000 --> 01:00:05.000
Later.
"""


def write(folder: Path, name: str, text: str) -> Path:
    path = folder / name
    path.write_text(text, encoding="utf-8")
    return path


def texts(captions: list[Caption], time: float) -> list[str | None]:
    found = find_surrounding(captions, time)
    return [item.text if item else None for item in (found.before, found.at, found.after)]


class TestSurrounding:
    captions = [Caption(1, 2, "a"), Caption(3, 4, "b"), Caption(4, 6, "c")]

    @pytest.mark.parametrize(
        ("time", "expected"),
        [
            (0.0, [None, None, "a"]),
            (1.0, [None, "a", "b"]),
            (2.0, [None, "a", "b"]),
            (2.5, ["a", None, "b"]),
            (3.5, ["a", "b", "c"]),
            (4.0, ["b", "c", None]),
            (6.5, ["c", None, None]),
        ],
    )
    def test_nearest_captions_of_a_time(self, time: float, expected: list[str | None]) -> None:
        assert texts(self.captions, time) == expected

    def test_a_caption_within_a_longer_one(self) -> None:
        nested = [Caption(0, 10, "long"), Caption(1, 2, "short")]
        assert texts(nested, 1.5) == ["long", "short", None]
        assert texts(nested, 5) == ["short", "long", None]

    def test_no_caption_gives_no_text(self) -> None:
        assert find_surrounding([], 3).texts() == []

    def test_texts_have_at_most_300_characters(self) -> None:
        shown = find_surrounding([Caption(0, 9, "x" * 301)], 1).texts()
        assert [len(text) for text in shown] == [300]
        assert shown[0].endswith("…")


class TestClipFiles:
    def test_srt_is_read_without_markup(self, tmp_path: Path) -> None:
        assert read_clip_captions(write(tmp_path, "a.srt", SRT)) == [
            Caption(1.0, 2.5, "Hello there."),
            Caption(4.0, 5.0, "Tom & Jerry"),
        ]

    def test_srt_with_windows_line_ends_and_byte_order_mark(self, tmp_path: Path) -> None:
        path = tmp_path / "a.srt"
        path.write_bytes(b"\xef\xbb\xbf" + SRT.replace("\n", "\r\n").encode())
        assert len(read_clip_captions(path)) == 2

    def test_webvtt_is_read_without_notes_and_settings(self, tmp_path: Path) -> None:
        assert read_clip_captions(write(tmp_path, "a.vtt", VTT)) == [
            Caption(1.0, 2.5, "Hello there."),
            Caption(3604.0, 3605.0, "Later."),
        ]

    def test_a_text_describes_the_whole_clip(self, tmp_path: Path) -> None:
        path = write(tmp_path, "a.txt", "Two people\nwait for a train.\n")
        assert read_clip_captions(path) == [Caption(0.0, math.inf, "Two people wait for a train.")]
        assert read_clip_captions(write(tmp_path, "b.txt", " \n")) == []

    @pytest.mark.parametrize(
        ("name", "text", "message"),
        [
            (
                "a.srt",
                SRT.replace("00:00:02,500", "00:00:00,500"),
                "line 2 ends at 0.5 s, before its start at 1 s",
            ),
            (
                "a.srt",
                SRT.replace("00:00:04,000", "00:00:00,900"),
                "line 7 starts at 0.9 s, before the",
            ),
            (
                "a.vtt",
                VTT.replace("01:00:0", "00:00:0").replace("00:00:04", "00:00:00"),
                "line 15 starts at 0 s",
            ),
            ("a.srt", SRT.replace("00:00:04,000", "four"), "line 7: 'four' is no time"),
            ("a.srt", SRT.replace("00:00:05,000", ""), "line 7: '' is no time"),
            ("a.srt", "Hello.\n", "line 1 has no times"),
            ("a.vtt", SRT, "line 1 does not start with WEBVTT"),
        ],
    )
    def test_bad_line_is_refused_by_number(self, tmp_path: Path, name: str, text: str, message: str) -> None:
        with pytest.raises(InvalidInput, match=message) as refusal:
            read_clip_captions(write(tmp_path, name, text))
        assert str(tmp_path / name) in str(refusal.value)

    def test_unreadable_files_are_refused_by_name(self, tmp_path: Path) -> None:
        with pytest.raises(InvalidInput, match=r"none\.srt: cannot be read"):
            read_clip_captions(tmp_path / "none.srt")
        (tmp_path / "latin.srt").write_bytes(SRT.replace("Hello", "Café").encode("latin-1"))
        with pytest.raises(InvalidInput, match=r"latin\.srt: is not UTF-8"):
            read_clip_captions(tmp_path / "latin.srt")


class TestLsmdc:
    def test_captions_are_in_seconds_of_the_clip(self, tmp_path: Path) -> None:
        found = read_lsmdc_captions(write(tmp_path, "a.csv", LSMDC)).of_clip(
            "7_Moor_00.00.20.000-00.00.23.000"
        )
        # The clip starts at its extracted start, 19.75 s of the film.
        assert found[:2] == [
            Caption(-9.75, -7.25, "Someone opens a gate."),
            Caption(0.25, 3.25, "A dog runs out."),
        ]
        assert texts(found, 1.5) == ["Someone opens a gate.", "A dog runs out.", "Someone runs."]

    def test_a_clip_that_is_not_listed_starts_at_the_time_of_its_name(self, tmp_path: Path) -> None:
        found = read_lsmdc_captions(write(tmp_path, "a.csv", LSMDC)).of_clip(
            "7_Moor_00.00.15.000-00.00.18.000"
        )
        assert texts(found, 1.0) == ["Someone opens a gate.", None, "A dog runs out."]

    def test_heading_and_empty_lines_are_skipped(self, tmp_path: Path) -> None:
        heading = "CLIP_ID\tSTART_ALIGNED\tEND_ALIGNED\tSTART_EXTRACTED\tEND_EXTRACTED\tSENTENCE\n\n"
        assert set(read_lsmdc_captions(write(tmp_path, "a.csv", heading + LSMDC)).by_movie) == {
            "7_Moor",
            "8_Hall",
        }

    @pytest.mark.parametrize("clip", ["9_Lane_00.00.10.000-00.00.12.500", "vjKmLdXyPRc"])
    def test_a_clip_of_another_film_is_refused(self, tmp_path: Path, clip: str) -> None:
        captions = read_lsmdc_captions(write(tmp_path, "a.csv", LSMDC))
        with pytest.raises(InvalidInput, match=f"captions: no line is about the film of clip '{clip}'"):
            captions.of_clip(clip)

    @pytest.mark.parametrize(
        ("old", "new", "message"),
        [
            (
                "0.00.23.000\t0.00.19.750",
                "0.00.13.000\t0.00.19.750",
                "line 2 ends at 13 s, before its start at 20 s",
            ),
            ("1.02.03.004\t1.02.05.000\t1.02", "0.00.03.004\t1.02.05.000\t1.02", "line 4 starts at 3.004 s"),
            (
                "0.00.10.000\t0.00.12.500\t",
                "0.00.10.000\t0:00:12\t",
                "line 1: END_ALIGNED is '0:00:12'; write h.mm",
            ),
            ("\tA dog runs out.", "", "line 2: has 5 columns"),
            (
                "8_Hall_00.00.01.000-00.00.03.000",
                "8_Hall",
                "line 3: CLIP_ID '8_Hall' does not end with two times",
            ),
        ],
    )
    def test_bad_line_is_refused_by_number(self, tmp_path: Path, old: str, new: str, message: str) -> None:
        assert old in LSMDC
        with pytest.raises(InvalidInput, match=message):
            read_lsmdc_captions(write(tmp_path, "a.csv", LSMDC.replace(old, new)))

    def test_an_empty_file_is_refused(self, tmp_path: Path) -> None:
        with pytest.raises(InvalidInput, match="has no caption"):
            read_lsmdc_captions(write(tmp_path, "a.csv", "\n"))
