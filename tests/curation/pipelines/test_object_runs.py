"""Object lists of photos: detected by a model, imported from files, kept for ever in one order."""

import io
import json
import re
from collections.abc import Callable, Sequence
from pathlib import Path
from typing import Any

import numpy as np
import pytest
from django.core.management import CommandError, call_command
from PIL import Image as Pillow

from curation.models import DetectionRun, ObjectSet
from curation.pipelines import detectors
from curation.proposals.detector import DetectedBoxes
from curation.selectors.object_lists import newest_object_sets
from curation.services import objects as services
from hits.domain.images.detections import DetectedObject, objects_sha256, page_objects
from hits.models import Image, Job, Project
from hits.models.base import AppendOnlyError
from tests.support import made_up_sources as made
from tests.support.curation.detection_models import save_tiny_detector

pytestmark = pytest.mark.django_db

ABOUT: dict[str, Any] = {
    "boxes": [[1.5, 2, 20, 30, 0.75], [0, 0, 64, 48, 0.9], [5, 5, 9, 9, 0.6]],
    "segms": [[[[2, 3], [19, 3], [70, 29]]], [], [[[5, 5], [9, 5], [9, 9]]]],
    "names": ["person", "dog", "person"],
    "width": 64,
    "height": 48,
}


class LabelDetector:
    """Four objects that are the same in each picture."""

    name = "hf:made/up"

    def __init__(self, revision: str = "a" * 40, *, fails_after: int | None = None) -> None:
        self.revision, self._fails_after, self._seen = revision, fails_after, 0

    def propose(self, pictures: Sequence[Pillow.Image]) -> list[DetectedBoxes]:
        """Return the objects; fail when enough pictures were seen."""
        self._seen += len(pictures)
        if self._fails_after is not None and self._seen > self._fails_after:
            raise RuntimeError("out of memory")
        corners = np.array([[4, 4, 9, 9], [1, 1, 5, 5], [0, 0, 3, 3], [2, 2, 8, 8]])
        scores, labels = np.array([0.95, 0.8, 0.8, 0.69]), ("dog", "woman", "man", "cup")
        return [DetectedBoxes(corners, scores, labels) for _ in pictures]


@pytest.fixture
def use_detector(monkeypatch: pytest.MonkeyPatch) -> Callable[[LabelDetector], None]:
    """Return a function that sets the detector of the pipeline."""

    def use(detector: LabelDetector) -> None:
        detectors.load_detector.cache_clear()
        monkeypatch.setattr(detectors, "get_detector", lambda name, **options: detector)

    monkeypatch.setattr(detectors, "BATCH_SIZE", 1)
    use(LabelDetector())
    return use


def run(*arguments: object) -> dict[str, Any]:
    out = io.StringIO()
    call_command(*map(str, arguments), "--json", stdout=out, stderr=io.StringIO())
    result: dict[str, Any] = json.loads(out.getvalue())
    return result


def refusal(*arguments: object) -> str:
    with pytest.raises(CommandError) as raised:
        run(*arguments)
    assert raised.value.returncode == 2
    assert "\n" not in str(raised.value)
    return str(raised.value)


def detect(project: Project, *arguments: object) -> dict[str, Any]:
    return run("detect_objects", "--project", project.slug, "--detector", "hf:made/up", *arguments)


def names(found: ObjectSet) -> list[str]:
    return [item["name"] for item in found.detections]


class TestDetection:
    def test_objects_are_stored_in_their_order_with_counts_and_hash(
        self, project: Project, make_image: Callable[..., Image], use_detector: Any
    ) -> None:
        make_image(1), make_image(2)
        result = detect(project)
        assert (result["images"], result["objects"]) == (2, 6)
        first = ObjectSet.objects.first()
        assert first is not None
        assert [(item["name"], item["box"], item["score"]) for item in first.detections] == [
            ("dog", [4.0, 4.0, 9.0, 9.0], 0.95),
            ("person", [0.0, 0.0, 3.0, 3.0], 0.8),
            ("person", [1.0, 1.0, 5.0, 5.0], 0.8),
        ]
        assert (first.people, first.others) == (2, 1)
        assert first.sha256 == objects_sha256([DetectedObject.from_json(raw) for raw in first.detections])
        row = DetectionRun.objects.get()
        assert (row.revision, row.is_complete, row.images, row.objects_found) == ("a" * 40, True, 2, 6)
        assert row.figures == {"classes": {"person": 4, "dog": 2}}

    def test_options_reach_the_lists(
        self, project: Project, make_image: Callable[..., Image], use_detector: Any
    ) -> None:
        make_image(1)
        detect(project, "--min-score", "0.5", "--person-labels", "man, DOG")
        assert names(ObjectSet.objects.get()) == ["person", "person", "woman", "cup"]

    def test_a_later_run_makes_new_lists_and_leaves_the_old_ones(
        self, project: Project, make_image: Callable[..., Image], use_detector: Any
    ) -> None:
        image = make_image(1)
        detect(project)
        old = ObjectSet.objects.get()
        before = (old.detections, old.sha256)
        detect(project, "--min-score", "0.9")
        old.refresh_from_db()
        assert (old.detections, old.sha256) == before
        assert names(newest_object_sets([image.pk])[image.pk]) == ["dog"]

    def test_lists_never_change(
        self, project: Project, make_image: Callable[..., Image], use_detector: Any
    ) -> None:
        make_image(1)
        detect(project)
        row = ObjectSet.objects.get()
        row.detections = []
        with pytest.raises(AppendOnlyError):
            row.save()

    def test_a_run_that_failed_is_resumed_where_it_stopped(
        self, project: Project, make_image: Callable[..., Image], use_detector: Any
    ) -> None:
        for seed in range(3):
            make_image(seed)
        use_detector(LabelDetector(fails_after=2))
        assert "out of memory" in refusal(
            "detect_objects", "--project", project.slug, "--detector", "hf:made/up"
        )
        assert ObjectSet.objects.count() == 2
        use_detector(LabelDetector("b" * 40))
        number = Job.objects.get().pk
        assert "the run started with" in refusal("detect_objects", "--resume", number)
        use_detector(LabelDetector())
        assert run("detect_objects", "--resume", number)["images"] == 3
        assert ObjectSet.objects.count() == 3

    @pytest.mark.parametrize(
        ("arguments", "message"),
        [
            (["--detector", ""], "--detector: is missing; use hf: or mask:"),
            (["--detector", "classical"], "detector: classical names no classes; use hf: or mask:"),
            (["--detector", "coco"], "detector 'coco' is not known"),
            (["--min-score", "1.5"], "min score: 1.5 is not within 0 to 1"),
            (["--limit", "0"], "limit: 0 is not within 1 to"),
            (["--suppress-over", "2"], "suppress over: 2 is not between 0 and 1"),
        ],
    )
    def test_bad_option_is_refused_by_name(
        self, project: Project, make_image: Callable[..., Image], arguments: list[str], message: str
    ) -> None:
        make_image(1)
        start = ("detect_objects", "--project", project.slug, "--detector", "hf:made/up")
        assert message in refusal(*start, *arguments)
        assert not DetectionRun.objects.exists()

    def test_weights_that_cannot_be_had_leave_no_run(
        self, project: Project, make_image: Callable[..., Image], tmp_path: Path
    ) -> None:
        make_image(1)
        detectors.load_detector.cache_clear()
        start = ("detect_objects", "--project", project.slug, "--detector", f"mask:{tmp_path}")
        assert "is not available: give a folder with config.json" in refusal(*start)
        assert not DetectionRun.objects.exists()

    def test_project_without_photos_is_refused(self, project: Project) -> None:
        assert "images: there are none" in refusal(
            "detect_objects", "--project", project.slug, "--detector", "hf:made/up"
        )

    def test_a_real_model_names_the_objects_of_photos(
        self, project: Project, make_image: Callable[..., Image], tmp_path: Path
    ) -> None:
        make_image(1)
        detectors.load_detector.cache_clear()
        folder = save_tiny_detector(tmp_path)
        run("detect_objects", "--project", project.slug, "--detector", f"hf:{folder}", "--min-score", "0.0")
        (found,) = ObjectSet.objects.all()
        assert set(names(found)) <= {"person", "dog", "cup"}
        scores = [item["score"] for item in found.detections]
        assert scores == sorted(scores, reverse=True)


class TestImport:
    def import_file(self, project: Project, path: Path, *arguments: str) -> dict[str, Any]:
        return run("import_detections", path, "--project", project.slug, *arguments)

    def test_metadata_keeps_the_published_order_and_outlines(
        self, project: Project, make_image: Callable[..., Image], tmp_path: Path
    ) -> None:
        image = make_image(1, name="street.png")
        make_image(2)
        (tmp_path / "street.json").write_text(json.dumps(ABOUT))
        (tmp_path / "other.json").write_text(json.dumps(ABOUT))
        result = self.import_file(project, tmp_path)
        assert (result["images"], result["objects"], result["other_images"]) == (1, 3, 1)
        assert (result["cut_boxes"], result["cut_polygons"]) == (0, 1)
        row = ObjectSet.objects.get()
        assert row.image == image
        assert names(row) == ["person", "dog", "person"]
        assert row.detections[2]["polygons"] == [[[5.0, 5.0], [9.0, 5.0], [9.0, 9.0]]]
        assert row.detections[1]["polygons"] == []
        assert (row.people, row.others) == (1, 1)  # the second person's score is under 0.7
        objects = [DetectedObject.from_json(raw) for raw in row.detections]
        assert page_objects(objects, width=64, height=48)[1] == {
            "name": "dog",
            "box": {"left": 0, "top": 0, "width": 64, "height": 48},
            "polygons": [],
        }

    def test_lines_of_a_file_name_their_photos(
        self, project: Project, make_image: Callable[..., Image], tmp_path: Path
    ) -> None:
        for seed, name in enumerate(("a.png", "b.png")):
            make_image(seed, name=name)
        path = tmp_path / "objects.jsonl"
        path.write_text("".join(json.dumps(ABOUT | {"image": name}) + "\n" for name in ("a.png", "b")))
        assert self.import_file(project, path)["images"] == 2

    @pytest.mark.parametrize(
        ("lines", "message"),
        [
            ([{}, {"names": ["person"]}], "line 2: has 3 boxes and 1 names"),
            ([{}, {"image": "a"}], "line 2: is about the photo of .*line 1 again"),
            ([{"image": "z"}], "names none of the project's photos"),
            ([{"width": 640, "height": 480}], "line 1: the collection says 640 × 480, the file is 64 × 48"),
            ([{"image": "twin"}], "line 1: 2 photos are called twin; name it with its film"),
        ],
    )
    def test_bad_file_is_refused_by_line_and_stores_nothing(
        self,
        project: Project,
        make_image: Callable[..., Image],
        tmp_path: Path,
        lines: list[dict[str, Any]],
        message: str,
    ) -> None:
        for seed, name in enumerate(("a.png", "b.png", "twin.png", "twin.png")):
            make_image(seed, name=name)
        path = tmp_path / "objects.jsonl"
        rows = [ABOUT | {"image": "ab"[number]} | change for number, change in enumerate(lines)]
        path.write_text("".join(json.dumps(row) + "\n" for row in rows))
        text = refusal("import_detections", path, "--project", project.slug)
        assert re.search(message, text), text
        assert not ObjectSet.objects.exists()
        assert not DetectionRun.objects.exists()

    def test_photos_at_another_scale_are_accepted_on_request(
        self, project: Project, make_image: Callable[..., Image], tmp_path: Path
    ) -> None:
        make_image(1, name="a.png", width=128, height=96)
        (tmp_path / "a.json").write_text(json.dumps(ABOUT))
        self.import_file(project, tmp_path / "a.json", "--resized")
        assert ObjectSet.objects.get().detections[0]["box"] == [3.0, 4.0, 40.0, 60.0]

    def test_missing_file_is_refused(self, project: Project, tmp_path: Path) -> None:
        assert "there is no such file or folder" in refusal(
            "import_detections", tmp_path / "none", "--project", project.slug
        )


class TestVcr:
    FRAMES = {"a@0": ["person", "person", "dog"], "c@0": ["car", "person", "tie", "tie"]}

    def test_import_keeps_outlines_and_makes_object_lists(self, project: Project, tmp_path: Path) -> None:
        images = made.vcr(tmp_path, self.FRAMES, splits={"train": ["a@0"], "val": ["c@0"]})
        path = images / made.MOVIE / "a@0.json"
        about = json.loads(path.read_text())
        about["segms"][1] = [[[3, 4], [20, 4], [20, 30]], [[60, 40], [90, 40], [90, 45]]]
        made.write(path, about)
        result = run("import_vcr", tmp_path, "--project", project.slug)
        assert (result["object_lists"], result["cut_polygons"]) == (2, 1)
        row = ObjectSet.objects.get(image__name="a@0.jpg")
        assert names(row) == ["person", "person", "dog"]
        assert row.detections[0]["box"] == [2.5, 3.25, 20.75, 30.5]
        assert row.detections[1]["polygons"][0] == [[3.0, 4.0], [20.0, 4.0], [20.0, 30.0]]
        assert (row.people, row.others) == (2, 1)
        listed = DetectionRun.objects.get()
        assert (listed.detector, listed.is_complete, listed.images) == (services.PUBLISHED, True, 2)

    def test_a_second_import_makes_no_second_list(self, project: Project, tmp_path: Path) -> None:
        made.vcr(tmp_path, self.FRAMES, splits={"train": ["a@0"], "val": ["c@0"]})
        run("import_vcr", tmp_path, "--project", project.slug)
        again = run("import_vcr", tmp_path, "--project", project.slug)
        assert (again["known"], again["object_lists"]) == (2, 0)
        assert (DetectionRun.objects.count(), ObjectSet.objects.count()) == (1, 2)

    def test_photos_of_an_earlier_release_get_their_lists(self, project: Project, tmp_path: Path) -> None:
        made.vcr(tmp_path, self.FRAMES, splits={"train": ["a@0"], "val": ["c@0"]})
        with pytest.MonkeyPatch.context() as patch:
            patch.setattr(services, "published_run", lambda **_: None)
            run("import_vcr", tmp_path, "--project", project.slug)
        assert not ObjectSet.objects.exists()
        assert run("import_vcr", tmp_path, "--project", project.slug)["object_lists"] == 2
