"""From clips to stored frames: the command, films and names, captions, bad input, resuming, take-down."""

import io
import json
from pathlib import Path
from typing import Any

import numpy as np
import pytest
from django.core.management import CommandError, call_command
from PIL import Image as Pillow

from curation.models import Clip, Frame
from curation.pipelines import extract_frames as job
from curation.pipelines.frames import scan_clip
from curation.selectors.jobs import EXTRACT_FRAMES
from curation.services import frames as services
from curation.video.shots import ShotRule
from hits.models import Image, Job, Project
from hits.services.errors import Conflict, Refused
from tests.support.films import cut_off, decode_one_by_one, require_pyav, write_film

require_pyav()
pytestmark = pytest.mark.django_db

SRT = "1\n00:00:00,500 --> 00:00:01,000\nA door opens.\n\n2\n00:00:01,200 --> 00:00:01,900\nSomeone enters.\n"


@pytest.fixture
def clip(tmp_path: Path) -> Path:
    """Two seconds with a cut at 1.0 s."""
    return write_film(tmp_path / "arrival.mp4", seconds=2, cuts=(1.0,))


def extract(project: Project, path: Path, **options: Any) -> dict[str, Any]:
    """Run the command; ``options`` replace the usual ones."""
    given = {
        "licence": "CC BY 4.0",
        "source": "made for this test",
        "movie": "The Moor",
        "every": "frame",
    } | options
    arguments = [f"--{name.replace('_', '-')}={value}" for name, value in given.items() if value is not None]
    out = io.StringIO()
    call_command("extract_frames", str(path), f"--project={project.slug}", "--json", *arguments, stdout=out)
    result: dict[str, Any] = json.loads(out.getvalue())
    return result


def refusal(project: Project, path: Path, **options: Any) -> str:
    with pytest.raises(CommandError) as raised:
        extract(project, path, **options)
    assert raised.value.returncode == 2
    assert "\n" not in str(raised.value)
    return str(raised.value)


def pixels_of(path: Path) -> list[np.ndarray[Any, Any]]:
    return list(decode_one_by_one(path, lambda frame: frame.to_ndarray(format="rgb24").astype(int)))


def assert_nothing_stored() -> None:
    assert not Clip.objects.exists()
    assert not Image.objects.exists()


class TestStoredFrames:
    def test_clip_gives_the_middle_frame_of_each_shot(self, project: Project, clip: Path) -> None:
        result = extract(project, clip)
        assert {name: result[name] for name in ("state", "clips", "known", "frames", "repeated")} == {
            "state": "done",
            "clips": 1,
            "known": 0,
            "frames": 2,
            "repeated": 0,
        }
        row = Clip.objects.get()
        assert (str(row), row.licence, row.origin) == ("The Moor/arrival", "CC BY 4.0", "made for this test")
        assert row.is_complete
        assert row.options == {"every": None, "threshold": 30.0, "pixel_step": 1}
        assert (row.facts["shots"], row.facts["seconds"], row.facts["repeated_shots"]) == (2, 2.0, [])
        found = [(f.shot, f.start_seconds, f.end_seconds, f.time_seconds) for f in Frame.objects.all()]
        assert found == [(0, 0.0, 1.0, 0.5), (1, 1.0, 2.0, 1.5)]
        first, second = (frame.image for frame in Frame.objects.select_related("image"))
        assert (first.name, second.name) == ("arrival@0.jpg", "arrival@1.jpg")
        assert (first.licence, first.credit, first.width, first.height) == (
            "CC BY 4.0",
            "made for this test",
            320,
            180,
        )
        with Pillow.open(second.file) as stored:
            difference = np.abs(np.asarray(stored).astype(int) - pixels_of(clip)[36])
        assert difference.mean() < 2  # JPEG

    def test_a_second_extraction_stores_nothing_new(self, project: Project, clip: Path) -> None:
        extract(project, clip)
        again = extract(project, clip)
        assert (again["clips"], again["known"], again["frames"]) == (0, 1, 0)
        assert (Clip.objects.count(), Frame.objects.count(), Image.objects.count()) == (1, 2, 2)

    def test_a_picture_that_is_a_frame_already_is_left_out(self, project: Project, tmp_path: Path) -> None:
        """Shots without movement, such as black, give equal pictures."""
        still = write_film(tmp_path / "a.mkv", times=[0.0, 0.5, 1.0], cuts=(), codec="ffv1", pixels="bgr0")
        extract(project, still)
        (tmp_path / "b.mkv").write_bytes(still.read_bytes())
        result = extract(project, tmp_path / "b.mkv")
        assert (result["clips"], result["frames"], result["repeated"]) == (1, 0, 1)
        assert Clip.objects.get(name="b").facts["repeated_shots"] == [0]

    def test_folder_gives_each_clip_its_film(self, project: Project, clip: Path, tmp_path: Path) -> None:
        folder = tmp_path / "clips"
        (folder / "Moor" / "part 2").mkdir(parents=True)
        clip.rename(folder / "Moor" / "part 2" / "a.mp4")
        lsmdc = "7_Hall_00.00.10.000-00.00.12.000"
        write_film(folder / f"{lsmdc}.mp4", seconds=1, cuts=())
        (folder / "notes.txt").write_text("no clip")
        assert extract(project, folder, movie=None)["clips"] == 2
        assert {str(row) for row in Clip.objects.all()} == {"Moor/a", f"lsmdc_7_Hall/{lsmdc}"}

    def test_frames_store_the_captions_around_them(
        self, project: Project, clip: Path, tmp_path: Path
    ) -> None:
        captions = tmp_path / "arrival.srt"
        captions.write_text(SRT)
        extract(project, clip, captions=captions)
        assert [frame.captions for frame in Frame.objects.all()] == [
            ["A door opens.", "Someone enters."],
            ["A door opens.", "Someone enters."],
        ]

    def test_folder_of_captions_belongs_to_clips_by_name(
        self, project: Project, clip: Path, tmp_path: Path
    ) -> None:
        folder = tmp_path / "texts"
        folder.mkdir()
        (folder / "arrival.txt").write_text("Two people arrive.\n")
        extract(project, clip, captions=folder)
        assert [frame.captions for frame in Frame.objects.all()] == [["Two people arrive."]] * 2

    def test_captions_may_lie_in_folders_like_the_clips(
        self, project: Project, clip: Path, tmp_path: Path
    ) -> None:
        for name in ("Moor", "Hall"):
            (tmp_path / "films" / name).mkdir(parents=True)
            (tmp_path / "films" / name / "arrival.txt").write_text(f"At the {name}.")
        (tmp_path / "films" / "Moor" / "arrival.mp4").write_bytes(clip.read_bytes())
        write_film(
            tmp_path / "films" / "Hall" / "arrival.mkv", seconds=1, cuts=(), codec="ffv1", pixels="bgr0"
        )
        extract(project, tmp_path / "films", movie=None, captions=tmp_path / "films")
        found = {(frame.clip.movie, *frame.captions) for frame in Frame.objects.select_related("clip")}
        assert found == {("Moor", "At the Moor."), ("Hall", "At the Hall.")}

    def test_captions_of_lsmdc_are_in_seconds_of_the_film(
        self, project: Project, clip: Path, tmp_path: Path
    ) -> None:
        name = "7_Moor_00.10.00.000-00.10.02.000"
        path = clip.rename(clip.with_name(f"{name}.mp4"))
        table = tmp_path / "annotations.csv"
        cells = [
            [
                "7_Moor_00.09.00.000-00.09.02.000",
                "0.09.00.000",
                "0.09.02.000",
                "0.09.00.000",
                "0.09.02.000",
                "Before.",
            ],
            [name, "0.10.00.000", "0.10.01.000", "0.10.00.000", "0.10.02.000", "At."],
            [
                "7_Moor_00.10.09.000-00.10.10.000",
                "0.10.09.000",
                "0.10.10.000",
                "0.10.09.000",
                "0.10.10.000",
                "After.",
            ],
        ]
        table.write_text("".join("\t".join(row) + "\n" for row in cells))
        extract(project, path, movie=None, captions=table)
        assert [frame.captions for frame in Frame.objects.all()] == [
            ["Before.", "At.", "After."],
            ["At.", "After."],
        ]
        assert Clip.objects.get().movie == "lsmdc_7_Moor"


class TestBadInput:
    @pytest.mark.parametrize(
        ("options", "message"),
        [
            ({"licence": None}, "licence: is missing; state by which right the frames are used"),
            ({"licence": "  "}, "licence: is missing"),
            ({"source": None}, "source: is missing; state where the clips come from"),
            ({"movie": None}, "nothing says which film it is from; give --movie"),
            ({"movie": "a/b"}, "movie: 'a/b' has a slash"),
            ({"every": "never"}, "--every: 'never' is neither frame nor a number"),
            ({"every": "0"}, "every: 0 is no number of seconds above 0"),
            ({"threshold": "300"}, "threshold: 300 is not within 0 to 255"),
            ({"captions": "/nowhere/a.srt"}, "captions: /nowhere/a.srt does not exist"),
        ],
    )
    def test_bad_option_is_refused_by_name(
        self, project: Project, clip: Path, options: dict[str, Any], message: str
    ) -> None:
        assert message in refusal(project, clip, **options)
        assert_nothing_stored()

    def test_captions_that_run_backwards_are_refused_by_line(
        self, project: Project, clip: Path, tmp_path: Path
    ) -> None:
        captions = tmp_path / "arrival.srt"
        captions.write_text(SRT.replace("00:00:01,200", "00:00:00,200"))
        assert "line 6 starts at 0.2 s, before the caption above" in refusal(project, clip, captions=captions)
        assert_nothing_stored()

    def test_a_clip_that_is_cut_off_is_refused_and_stores_nothing(self, project: Project, clip: Path) -> None:
        assert "short-arrival.mp4: " in refusal(project, cut_off(clip, 0.8))
        assert_nothing_stored()

    def test_good_clips_of_a_folder_are_stored_beside_bad_ones(self, project: Project, clip: Path) -> None:
        cut_off(clip, 0.8)
        message = refusal(project, clip.parent)
        assert "short-arrival.mp4: " in message
        assert [row.name for row in Clip.objects.filter(is_complete=True)] == ["arrival"]
        cut_off(clip, 1.0)
        resumed = json.loads(run("extract_frames", "--resume", str(Job.objects.get().pk), "--json"))
        assert (resumed["clips"], resumed["known"]) == (1, 1)

    def test_two_clips_of_one_name_are_refused(self, project: Project, clip: Path) -> None:
        clip.with_suffix(".mkv").write_bytes(clip.read_bytes())
        assert "The Moor has a clip arrival already; rename one of the files" in refusal(project, clip.parent)
        assert_nothing_stored()

    def test_another_file_of_a_known_name_is_refused(self, project: Project, clip: Path) -> None:
        extract(project, clip)
        write_film(clip, seconds=1, cuts=())
        assert "The Moor/arrival: the project has another clip of this name" in refusal(project, clip)

    def test_another_rule_for_a_known_clip_is_refused(self, project: Project, clip: Path) -> None:
        extract(project, clip)
        assert "has frames of other settings (every frame, threshold 30)" in refusal(project, clip, every="1")

    def test_a_folder_without_clips_is_refused(self, project: Project, tmp_path: Path) -> None:
        (tmp_path / "none").mkdir()
        assert "none: has no clip; clips end in .avi" in refusal(project, tmp_path / "none")


def run(*arguments: str) -> str:
    out = io.StringIO()
    call_command(*arguments, stdout=out)
    return out.getvalue()


class TestStoppedJobs:
    def test_a_job_that_dies_between_two_steps_is_resumed(
        self, project: Project, clip: Path, monkeypatch: pytest.MonkeyPatch
    ) -> None:
        monkeypatch.setattr(job, "FRAMES_PER_STEP", 1)
        store, calls = services.store_frames, []

        def store_one(**given: Any) -> list[int]:
            if calls:
                raise Refused("the disk is full; free disk space")
            calls.append(given)
            return store(**given)

        monkeypatch.setattr(services, "store_frames", store_one)
        assert "the disk is full" in refusal(project, clip)
        assert (Frame.objects.count(), Clip.objects.get().is_complete) == (1, False)
        monkeypatch.setattr(services, "store_frames", store)
        assert extract(project, clip)["clips"] == 1
        assert [frame.shot for frame in Frame.objects.all()] == [0, 1]
        assert Clip.objects.get().is_complete

    def test_a_queued_job_keeps_its_options(self, project: Project, clip: Path) -> None:
        extract_arguments = [
            "--licence=L",
            "--source=S",
            "--movie=M",
            "--every=0.5",
            "--background",
            "--json",
        ]
        run("extract_frames", str(clip), f"--project={project.slug}", *extract_arguments)
        queued = Job.objects.get(task=EXTRACT_FRAMES)
        assert queued.args["options"]["every"] == 0.5
        assert services.ExtractionSpec(**queued.args["options"]).rule == ShotRule(0.5)


class TestTakeDown:
    def test_take_down_withdraws_all_frames_and_undo_brings_them_back(
        self, project: Project, clip: Path
    ) -> None:
        extract(project, clip)
        early = Image.objects.first()
        assert early is not None
        services.take_down.take_down_image(image=early, reason="a face", by=None)
        out = json.loads(
            run("take_down_clip", "The Moor/arrival", f"--project={project.slug}", "--reason=asked", "--json")
        )
        assert (out["taken_down"], out["frames"]) == (True, 1)
        assert not Image.objects.filter(taken_down_at=None).exists()
        row = Clip.objects.get()
        with pytest.raises(Conflict, match="is taken down already"):
            services.take_down_clip(clip=row, reason="again", by=None)
        undo = (
            "take_down_clip",
            "arrival",
            f"--project={project.slug}",
            "--reason=a mistake",
            "--undo",
            "--json",
        )
        assert json.loads(run(*undo)) == {"clip": row.pk, "taken_down": False, "frames": 1}
        assert [image.pk for image in Image.objects.filter(taken_down_at__isnull=False)] == [early.pk]

    def test_a_clip_that_is_taken_down_gives_no_new_frames(self, project: Project, clip: Path) -> None:
        extract(project, clip)
        row = Clip.objects.get()
        services.take_down_clip(clip=row, reason="asked", by=None)
        assert "The Moor/arrival: was taken down; put it back first" in refusal(project, clip)
        with pytest.raises(Refused, match="was taken down meanwhile"):
            services.store_frames(clip=row, frames=[])

    @pytest.mark.parametrize(("name", "message"), [("none", "has no such clip"), ("9", "has no such clip")])
    def test_unknown_clip_is_refused(self, project: Project, name: str, message: str) -> None:
        with pytest.raises(CommandError, match=message):
            run("take_down_clip", name, f"--project={project.slug}", "--reason=x")

    def test_take_down_needs_a_reason(self, project: Project, clip: Path) -> None:
        extract(project, clip)
        with pytest.raises(CommandError, match="reason: write the reason"):
            run("take_down_clip", "arrival", f"--project={project.slug}", "--reason= ")
        assert Clip.objects.get().taken_down_at is None


def test_missing_pyav_fails_the_job_with_its_command(
    project: Project, clip: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setitem(__import__("sys").modules, "av", None)
    assert "PyAV reads film clips and is not installed: run make video" in refusal(project, clip)
    assert_nothing_stored()


def test_walk_of_a_stored_clip_is_that_of_the_job(project: Project, clip: Path) -> None:
    extract(project, clip)
    scan = scan_clip(clip, ShotRule(every=None))
    assert [frame.time_seconds for frame in Frame.objects.all()] == list(scan.middle_times)
