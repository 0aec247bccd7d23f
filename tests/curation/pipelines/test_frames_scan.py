"""Shots of films that the test makes: both readings, exact middle frames, strange and broken clips."""

import itertools
import subprocess
import sys
from fractions import Fraction
from functools import cache
from pathlib import Path
from typing import Any

import numpy as np
import pytest

from curation.pipelines import frames
from curation.pipelines.frames import VideoUnavailable, decode_frames, scan_clip, to_upright_picture
from curation.records import InvalidInput
from curation.video.hsv import frame_score, to_hsv
from curation.video.shots import ShotRule
from tests.support.films import (
    COLOURS,
    CUTS,
    HEIGHT,
    LOSSLESS,
    RATE,
    SECONDS,
    WIDTH,
    cut_off,
    decode_one_by_one,
    draw_frame,
    require_pyav,
    turn_clockwise,
    write_film,
)
from tests.support.paths import ROOT

av = require_pyav()
EVERY_FRAME, EVERY_SECOND = ShotRule(every=None), ShotRule(every=1.0)
MIDDLES = [(start + end) / 2 for start, end in zip([0.0, *CUTS], [*CUTS, SECONDS], strict=True)]
X264 = {"codec": "libx264", "codec_options": {"x264-params": "keyint=40:open-gop=1:bframes=3"}}
FILMS: dict[str, dict[str, Any]] = {
    "mpeg4.mp4": {},
    "ffv1.mkv": LOSSLESS,
    "h264.mp4": X264,
    "h264.mkv": X264,
    "mpeg4.avi": {},
    "h264.ts": X264,
}


@pytest.fixture(scope="module")
def folder(tmp_path_factory: pytest.TempPathFactory) -> Path:
    """A folder with one film in several codecs and containers."""
    folder = tmp_path_factory.mktemp("films")
    for name, options in FILMS.items():
        if options.get("codec") == "libx264" and "libx264" not in av.codecs_available:
            continue
        write_film(folder / name, **options)
    return folder


def film(folder: Path, name: str) -> Path:
    path = folder / name
    if not path.exists():
        pytest.skip(f"{name} SKIPPED: PyAV has no x264 here")
    return path


scan_once = cache(scan_clip)  # several tests look at the same scan


def starts(path: Path, rule: ShotRule) -> list[float]:
    return [shot.start for shot in scan_once(path, rule).shots]


class TestReadings:
    def test_colours_of_the_film_are_far_apart(self) -> None:
        times = [0.0, *CUTS]
        flat = [to_hsv(draw_frame(time, 0)) for time in times]
        assert len({*COLOURS}) == len(times)
        assert all(frame_score(one, two) >= 40 for one, two in itertools.pairwise(flat))

    @pytest.mark.parametrize("name", FILMS)
    def test_every_frame_finds_exactly_the_cuts(self, folder: Path, name: str) -> None:
        assert starts(film(folder, name), EVERY_FRAME) == pytest.approx([0.0, *CUTS], abs=1e-9)

    @pytest.mark.parametrize("name", FILMS)
    def test_one_frame_a_second_finds_cuts_rounded_up(self, folder: Path, name: str) -> None:
        assert starts(film(folder, name), EVERY_SECOND) == [0.0, 3.0, 6.0, 10.0, 11.0]

    def test_thinned_pixels_find_the_same_cuts(self, folder: Path) -> None:
        assert starts(folder / "mpeg4.mp4", ShotRule(every=None, pixel_step=4)) == [0.0, *CUTS]

    def test_threshold_above_all_scores_gives_one_shot(self, folder: Path) -> None:
        assert starts(folder / "ffv1.mkv", ShotRule(every=None, threshold=200)) == [0.0]

    @pytest.mark.parametrize("name", ["mpeg4.mp4", "ffv1.mkv"])
    def test_every_frame_equals_scenedetect(self, folder: Path, name: str) -> None:
        reason = "scenedetect or OpenCV is not installed: the comparison with ContentDetector is SKIPPED"
        scenedetect = pytest.importorskip("scenedetect", reason=reason)
        pytest.importorskip("cv2", reason=reason)
        path = str(folder / name)
        scenes = scenedetect.detect(path, scenedetect.ContentDetector(threshold=30))
        found = [round(scene[0].seconds * RATE) for scene in scenes]
        assert found == [round(start * RATE) for start in starts(folder / name, EVERY_FRAME)]

    def test_facts_are_those_of_the_film(self, folder: Path) -> None:
        facts = scan_once(folder / "mpeg4.mp4", EVERY_SECOND).facts
        assert facts == {
            "width": WIDTH,
            "height": HEIGHT,
            "frames": 336,
            "compared": 14,
            "seconds": 14.0,
            "frames_per_second": 24.0,
            "is_rate_constant": True,
            "codec": "mpeg4",
            "container": "mov,mp4,m4a,3gp,3g2,mj2",
        }


class TestMiddleFrames:
    @pytest.mark.parametrize("name", FILMS)
    def test_middle_frames_equal_frames_decoded_one_by_one(self, folder: Path, name: str) -> None:
        path = film(folder, name)
        scan = scan_once(path, EVERY_FRAME)
        assert scan.middle_times == pytest.approx(MIDDLES, abs=0.0011)  # MKV has whole milliseconds
        found = list(decode_frames(path, scan.middle_stamps, scan.key_stamps))
        every = [frame.to_ndarray(format="rgb24") for frame in decode_one_by_one(path)]
        for picture, time in zip(found, MIDDLES, strict=True):
            assert np.array_equal(np.asarray(picture), every[round(time * RATE)])

    @pytest.mark.parametrize("name", ["mpeg4.mp4", "h264.mp4", "h264.mkv"])
    def test_any_frames_equal_frames_decoded_one_by_one(self, folder: Path, name: str) -> None:
        """Neighbours, frames between key frames, and the last frame."""
        path = film(folder, name)
        scan = scan_once(path, EVERY_SECOND)
        every = list(decode_one_by_one(path, lambda frame: (frame.pts, frame.to_ndarray(format="rgb24"))))
        requested = [every[index] for index in (0, 1, 2, 37, 38, 41, 119, 239, 240, 241, 335)]
        found = decode_frames(path, [stamp for stamp, _ in requested], scan.key_stamps)
        assert all(np.array_equal(np.asarray(a), b) for a, (_, b) in zip(found, requested, strict=True))

    def test_lossless_middle_frames_are_the_drawn_pictures(self, folder: Path) -> None:
        scan = scan_once(folder / "ffv1.mkv", EVERY_FRAME)
        for picture, time in zip(
            decode_frames(folder / "ffv1.mkv", scan.middle_stamps, scan.key_stamps), MIDDLES, strict=True
        ):
            assert np.array_equal(np.asarray(picture), draw_frame(time, round(time * RATE)))

    def test_a_stamp_that_no_frame_has_is_refused(self, folder: Path) -> None:
        path = folder / "mpeg4.mp4"
        with pytest.raises(InvalidInput, match=r"mpeg4\.mp4: has no frame at its time stamp 7"):
            list(decode_frames(path, [7], scan_once(path, EVERY_SECOND).key_stamps))


class TestStrangeClips:
    def test_times_of_a_variable_frame_rate_come_from_the_stream(self, tmp_path: Path) -> None:
        # 24 frames a second at first, then 5, and a still of two seconds.
        times = [
            *(k / 24 for k in range(72)),
            *(3 + k / 5 for k in range(13)),
            *(7.5 + k / 24 for k in range(48)),
        ]
        path = write_film(tmp_path / "vfr.mkv", times=times, cuts=(3.0, 5.4, 8.5), **LOSSLESS)
        scan = scan_clip(path, EVERY_FRAME)
        assert [shot.start for shot in scan.shots] == pytest.approx([0.0, 3.0, 5.4, 8.5], abs=0.0006)
        assert not scan.facts["is_rate_constant"]
        # The third shot's middle is 6.95 s: its frames are at 5.4, and from 7.5 on.
        assert scan.middle_times[2] == pytest.approx(7.5, abs=0.0006)
        pictures = list(decode_frames(path, scan.middle_stamps, scan.key_stamps))
        assert np.asarray(pictures[2])[0, 0].tolist() == list(COLOURS[2])

    def test_sampling_a_variable_frame_rate_does_not_fail(self, tmp_path: Path) -> None:
        times = [0.0, 0.04, 3.3, 3.4, 9.0]
        path = write_film(tmp_path / "vfr.mkv", times=times, cuts=(3.0, 8.0), **LOSSLESS)
        assert starts(path, EVERY_SECOND) == pytest.approx([0.0, 3.3, 9.0], abs=0.0006)

    def test_a_turned_stream_gives_upright_frames(self, tmp_path: Path) -> None:
        path = write_film(tmp_path / "turned.mp4", seconds=1)
        plain = next(decode_one_by_one(path, lambda frame: frame.to_ndarray(format="rgb24")))
        scan = scan_clip(turn_clockwise(path), EVERY_SECOND)
        (picture,) = decode_frames(path, scan.middle_stamps[:1], scan.key_stamps)
        assert (scan.facts["width"], scan.facts["height"]) == picture.size == (HEIGHT, WIDTH)
        (first,) = decode_frames(path, scan.key_stamps[:1], scan.key_stamps)
        assert np.array_equal(np.asarray(first), np.rot90(plain, -1))

    def test_pixels_that_are_not_square_are_stretched(self) -> None:
        frame = av.VideoFrame.from_ndarray(draw_frame(0, 0), format="rgb24")
        assert to_upright_picture(frame, Fraction(4, 3)).size == (427, HEIGHT)
        assert to_upright_picture(frame, None).size == (WIDTH, HEIGHT)

    def test_a_clip_with_sound_is_scanned_by_its_video(self, tmp_path: Path) -> None:
        path = tmp_path / "sound.mp4"
        with av.open(str(path), "w") as container:
            video, sound = container.add_stream("mpeg4", rate=RATE), container.add_stream("aac", rate=16_000)
            video.width, video.height, video.pix_fmt = WIDTH, HEIGHT, "yuv420p"
            for number in range(RATE):
                container.mux(video.encode(av.VideoFrame.from_ndarray(draw_frame(0, number), format="rgb24")))
            container.mux(video.encode())
            samples = av.AudioFrame.from_ndarray(np.zeros((1, 48_000), dtype=np.float32), "fltp", "mono")
            samples.sample_rate, samples.pts = 16_000, 0  # three seconds: longer than the video
            for packet in sound.encode(samples):
                container.mux(packet)
            container.mux(sound.encode())
        assert scan_clip(path, EVERY_SECOND).facts["seconds"] == 1.0

    def test_one_frame_is_one_shot(self, tmp_path: Path) -> None:
        path = write_film(tmp_path / "one.mp4", seconds=1 / RATE)
        (shot,) = scan_clip(path, EVERY_FRAME).shots
        assert (shot.start, shot.end, shot.middle) == (0.0, pytest.approx(1 / RATE), 0)


class TestBrokenClips:
    @pytest.mark.parametrize("name", ["mpeg4.mp4", "ffv1.mkv", "faststart.mp4", "h264.mp4", "wmv2.wmv"])
    @pytest.mark.parametrize("share", [0.2, 0.6, 0.95])
    def test_a_clip_that_is_cut_off_is_refused_by_name(self, folder: Path, name: str, share: float) -> None:
        if name == "faststart.mp4":
            write_film(folder / name, file_options={"movflags": "+faststart"})
        if name == "wmv2.wmv":
            write_film(folder / name, codec="wmv2")
            scan_clip(folder / name, EVERY_SECOND)
        short = cut_off(film(folder, name), share)
        with pytest.raises(InvalidInput, match=f"short-{name}: .*is cut off"):
            scan_clip(short, EVERY_SECOND)

    @pytest.mark.parametrize(("limit", "pixel_ratio"), [(WIDTH * HEIGHT - 1, 1), (WIDTH * HEIGHT, 3)])
    def test_frames_larger_than_photos_may_be_are_refused_before_they_are_compared(
        self, tmp_path: Path, settings: Any, limit: int, pixel_ratio: int
    ) -> None:
        """Each frame of 144 megapixels took 7 GB, and its photo was refused."""
        path = tmp_path / "large.mp4"
        with av.open(str(path), "w") as container:
            stream = container.add_stream("mpeg4", rate=RATE)
            stream.width, stream.height, stream.pix_fmt = WIDTH, HEIGHT, "yuv420p"
            stream.codec_context.sample_aspect_ratio = Fraction(pixel_ratio)
            frame = av.VideoFrame.from_ndarray(draw_frame(0, 0), format="rgb24")
            container.mux([*stream.encode(frame), *stream.encode()])
        scan_clip(path, EVERY_SECOND)
        settings.MAX_IMAGE_PIXELS = limit
        with pytest.raises(
            InvalidInput, match=rf"large\.mp4: its frames of {WIDTH * pixel_ratio} × {HEIGHT} are"
        ):
            scan_clip(path, EVERY_SECOND)

    def test_a_clip_without_video_is_refused_by_name(self, tmp_path: Path) -> None:
        path = tmp_path / "sound.mkv"
        with av.open(str(path), "w") as container:
            sound = container.add_stream("pcm_s16le", rate=8000)
            samples = av.AudioFrame.from_ndarray(np.zeros((1, 8000), dtype=np.int16), "s16", "mono")
            samples.sample_rate = 8000
            container.mux(sound.encode(samples))
        with pytest.raises(InvalidInput, match=r"sound\.mkv: has no video stream"):
            scan_clip(path, EVERY_SECOND)

    def test_a_clip_without_frames_is_refused_by_name(self, tmp_path: Path) -> None:
        path = tmp_path / "empty.mkv"
        with av.open(str(path), "w") as container:
            stream = container.add_stream("ffv1", rate=RATE)
            stream.width, stream.height, stream.pix_fmt = WIDTH, HEIGHT, "yuv420p"
            stream.codec_context.open()
            container.start_encoding()
        with pytest.raises(InvalidInput, match=r"empty\.mkv: has no frame"):
            scan_clip(path, EVERY_SECOND)

    @pytest.mark.parametrize("data", [b"", b"no film" * 100])
    def test_other_files_are_refused_by_name(self, tmp_path: Path, data: bytes) -> None:
        path = tmp_path / "notes.mp4"
        path.write_bytes(data)
        with pytest.raises(InvalidInput, match=r"notes\.mp4: cannot be decoded .* no film clip"):
            scan_clip(path, EVERY_SECOND)

    def test_a_playlist_is_not_followed(self, folder: Path, tmp_path: Path) -> None:
        playlist = tmp_path / "list.mp4"
        playlist.write_text(f"#EXTM3U\n#EXTINF:14,\n{folder / 'mpeg4.mp4'}\n#EXT-X-ENDLIST\n")
        with pytest.raises(InvalidInput, match=r"list\.mp4: cannot be decoded"):
            scan_clip(playlist, EVERY_SECOND)

    def test_a_missing_clip_is_refused_by_name(self, tmp_path: Path) -> None:
        with pytest.raises(InvalidInput, match=r"none\.mp4: there is no such clip"):
            scan_clip(tmp_path / "none.mp4", EVERY_SECOND)

    def test_missing_pyav_is_named_with_its_command(
        self, folder: Path, monkeypatch: pytest.MonkeyPatch
    ) -> None:
        monkeypatch.setitem(sys.modules, "av", None)
        with pytest.raises(VideoUnavailable, match=r"PyAV .* is not installed: run make video"):
            scan_clip(folder / "mpeg4.mp4", EVERY_SECOND)


def test_progress_can_stop_a_scan(folder: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(frames, "PROGRESS_EVERY", 100)
    seen: list[int] = []

    def stop(count: int) -> None:
        seen.append(count)
        if count == 200:
            raise KeyboardInterrupt

    with pytest.raises(KeyboardInterrupt):
        scan_clip(folder / "mpeg4.mp4", EVERY_SECOND, report_progress=stop)
    assert seen == [100, 200]


_WALK = """
import resource, sys
from pathlib import Path
from curation.pipelines.frames import scan_clip
from curation.video.shots import ShotRule
scan = scan_clip(Path(sys.argv[1]), ShotRule())
peak = resource.getrusage(resource.RUSAGE_SELF).ru_maxrss
print(scan.facts["frames"], scan.facts["seconds"], len(scan.shots), peak)
"""


@pytest.mark.nightly
def test_scan_of_two_hours_holds_400_mib(tmp_path: Path) -> None:
    hours = 2 * 3600
    path = write_film(tmp_path / "long.mp4", seconds=hours, cuts=[60.0 * k for k in range(1, 120)])
    result = subprocess.run(
        [sys.executable, "-c", _WALK, str(path)], cwd=ROOT, capture_output=True, text=True, check=True
    )
    decoded, seconds, shots, kib = map(float, result.stdout.split())
    assert (decoded, seconds, shots) == (hours * RATE, hours, 120)
    assert kib <= 400 * 1024
