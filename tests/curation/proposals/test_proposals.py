"""Proposals: exact overlaps, ranking, models from a folder, published files, selective search."""

import json
import shutil
import time
from collections.abc import Callable
from concurrent.futures import ThreadPoolExecutor
from fractions import Fraction
from itertools import pairwise
from pathlib import Path

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st
from numpy.typing import NDArray
from PIL import Image as Pillow
from PIL import ImageDraw

from curation.features.encoder import is_hub_id
from curation.proposals.boxes import (
    find_distinct_boxes,
    round_to_pixels,
    suppress_overlaps,
    to_boxes,
    to_corners,
)
from curation.proposals.detector import DetectedBoxes, DetectorUnavailable
from curation.proposals.factory import get_detector
from curation.proposals.grouping import SimilarityRule, describe_superpixels, group_superpixels
from curation.proposals.overlap import RecallAccumulator, best_overlaps
from curation.proposals.selective_search import SelectiveSearch, edge_fit, pick_covering_boxes
from curation.views.recall_charts import recall_chart, recall_spark

BOX = st.tuples(st.integers(0, 40), st.integers(0, 40), st.integers(1, 30), st.integers(1, 30))


def exact_iou(first: tuple[int, ...], second: tuple[int, ...]) -> Fraction:
    """IoU by counting pixels."""

    def pixels(box: tuple[int, ...]) -> set[tuple[int, int]]:
        left, top, width, height = box
        return {(x, y) for x in range(left, left + width) for y in range(top, top + height)}

    return Fraction(len(pixels(first) & pixels(second)), len(pixels(first) | pixels(second)))


class TestOverlaps:
    @settings(deadline=None)
    @given(st.lists(BOX, min_size=1, max_size=4), st.lists(BOX, min_size=1, max_size=3))
    def test_best_iou_equals_brute_force(
        self, proposed: list[tuple[int, ...]], gold: list[tuple[int, ...]]
    ) -> None:
        found = best_overlaps(np.array(proposed), np.array(gold))
        assert found.tolist() == [float(max(exact_iou(box, true) for true in gold)) for box in proposed]

    def test_iou_of_exactly_half_does_not_count(self) -> None:
        half = best_overlaps(np.array([[0, 0, 10, 10]]), np.array([[0, 0, 10, 5]]))
        more = best_overlaps(np.array([[0, 0, 1000, 1000]]), np.array([[0, 0, 1000, 501]]))
        coverage = RecallAccumulator(limit=1)
        coverage.add_image([half.tolist(), more.tolist()])
        assert half.tolist() == [0.5]
        assert coverage.recall().solvable == 0.5

    def test_recall_by_number_of_proposals(self) -> None:
        coverage = RecallAccumulator(limit=4)
        coverage.add_image([[0.2, 0.6, 0.95, 0.1], [0.0, 0.0, 0.0, 0.71]])
        coverage.add_image([[0.4, 0.5]])  # fewer boxes than the limit
        coverage.add_image([])
        recall = coverage.recall()
        assert (recall.pairs, recall.images) == (3, 2)
        assert recall.curves[0.5] == [0, 1 / 3, 1 / 3, 2 / 3]
        assert recall.curves[0.7] == [0, 0, 1 / 3, 2 / 3]
        assert recall.curves[0.9] == [0, 0, 1 / 3, 1 / 3]
        assert (recall.solvable, recall.by_image, recall.images_solvable) == (2 / 3, 0.5, 0.5)
        assert recall.mean_best == pytest.approx((0.95 + 0.71 + 0.5) / 3)
        assert recall.share_covered(10, 0.5) == 2 / 3

    def test_coverage_without_pairs_is_none(self) -> None:
        recall = RecallAccumulator(limit=2).recall()
        assert (recall.pairs, recall.solvable, recall.by_image, recall.share_covered(1, 0.5)) == (
            0,
            None,
            None,
            None,
        )

    def test_a_photo_without_proposals_leaves_its_pairs_uncovered(self) -> None:
        coverage = RecallAccumulator(limit=2)
        coverage.add_image([[]])
        assert coverage.recall().curves[0.5] == [0, 0]


class TestBoxes:
    def test_rounded_boxes_stay_in_the_image(self) -> None:
        corners = round_to_pixels(np.array([[-3.2, 1.4, 200, 9.6], [50.1, 0, 50.3, 5]]), width=100, height=10)
        assert corners.tolist() == [[0, 1, 100, 10], [50, 0, 50, 5]]
        assert find_distinct_boxes(corners).tolist() == [0]

    def test_sizes_and_corners_are_inverse(self) -> None:
        boxes = np.array([[3, 4, 10, 20], [0, 0, 1, 1]])
        assert to_boxes(to_corners(boxes).astype(np.int64)).tolist() == boxes.tolist()

    def test_suppression_keeps_the_first_of_equal_boxes(self) -> None:
        corners = np.array([[5, 5, 9, 9], [0, 0, 2, 2], [5, 5, 9, 9]])
        assert find_distinct_boxes(corners).tolist() == [0, 1]

    def test_suppression_equals_a_plain_reference(self) -> None:
        rng = np.random.default_rng(3)
        start = rng.integers(0, 30, (60, 2))
        boxes = np.concatenate([start, rng.integers(5, 30, (60, 2))], axis=1)
        kept: list[int] = []
        for row in range(60):
            if all(exact_iou(tuple(boxes[row]), tuple(boxes[other])) <= Fraction(3, 10) for other in kept):
                kept.append(row)
        corners = to_corners(boxes).astype(np.int64)
        assert suppress_overlaps(corners, max_overlap=0.3, limit=60).tolist() == kept
        assert suppress_overlaps(corners, max_overlap=0.3, limit=3).tolist() == kept[:3]
        assert suppress_overlaps(corners, max_overlap=1.0, limit=60).tolist() == list(range(60))


class TestGrouping:
    def labels(self) -> NDArray[np.int64]:
        """Four quarters."""
        return np.kron(np.array([[0, 1], [2, 3]]), np.ones((10, 10), dtype=np.int64))

    def test_similar_neighbours_merge_first_and_the_image_last(self) -> None:
        labels = self.labels()
        channels = np.zeros((20, 20, 1))
        channels[labels == 3] = 1.0
        channels[labels == 1] = 0.9
        boxes = group_superpixels(describe_superpixels(labels, channels), SimilarityRule.ALL)
        assert len(boxes) == 7
        assert boxes[4].tolist() == [0, 0, 10, 20]  # both dark ones
        assert boxes[-1].tolist() == [0, 0, 20, 20]

    def test_histograms_sum_to_one(self) -> None:
        channels = np.random.default_rng(0).random((20, 20, 3))
        regions = describe_superpixels(self.labels(), channels)
        assert regions.colour.shape == (4, 75)
        assert regions.texture.shape == (4, 240)
        np.testing.assert_allclose(regions.colour.sum(axis=1), 1)
        np.testing.assert_allclose(regions.texture.sum(axis=1), 1)
        assert regions.neighbours.tolist() == [[0, 1], [0, 2], [1, 3], [2, 3]]
        assert regions.boxes[3].tolist() == [10, 10, 20, 20]

    def test_single_region_covers_the_image(self) -> None:
        regions = describe_superpixels(np.zeros((5, 7), dtype=np.int64), np.zeros((5, 7, 3)))
        assert group_superpixels(regions, SimilarityRule.WITHOUT_COLOUR).tolist() == [[0, 0, 7, 5]]


class TestClassical:
    def scene(self) -> Pillow.Image:
        scene = Pillow.new("RGB", (400, 300), (120, 130, 140))
        draw = ImageDraw.Draw(scene)
        draw.rectangle((40, 50, 149, 219), fill=(200, 30, 30))
        draw.ellipse((230, 90, 349, 189), fill=(20, 60, 190))
        return scene

    def test_distinct_object_is_among_the_first_boxes(self) -> None:
        (found,) = SelectiveSearch().propose([self.scene()])
        gold = np.array([[40, 50, 110, 170], [230, 90, 120, 100]])
        best = [best_overlaps(to_boxes(found.corners[:5]), true[None]).max() for true in gold]
        assert min(best) > 0.9

    def test_boxes_are_distinct_inside_ranked_and_limited(self) -> None:
        noise = np.random.default_rng(1).integers(0, 256, (120, 160, 3), dtype=np.uint8)
        for limit in (1, 7, 100):
            (found,) = SelectiveSearch(limit=limit).propose([Pillow.fromarray(noise)])
            assert found.scores is not None
            assert 1 <= len(found.corners) <= limit
            assert len({tuple(row) for row in found.corners.tolist()}) == len(found.corners)
            assert (found.corners[:, :2] >= 0).all()
            assert (found.corners[:, 2:] <= [160, 120]).all()
            assert (found.corners[:, 2:] > found.corners[:, :2]).all()
            assert (np.diff(found.scores) <= 0).all()

    def test_boxes_are_deterministic_and_a_smaller_limit_is_a_prefix(self) -> None:
        scene = self.scene()
        first, again = SelectiveSearch().propose([scene, scene])
        (few,) = SelectiveSearch(limit=5).propose([scene])
        assert first.rows() == again.rows()
        assert few.corners.tolist() == first.corners[:5].tolist()

    @pytest.mark.parametrize("size", [(1, 1), (3, 200), (640, 2)])
    def test_every_image_has_a_box(self, size: tuple[int, int]) -> None:
        (found,) = SelectiveSearch().propose([Pillow.new("RGB", size, (9, 9, 9))])
        assert found.rows()[0][:4] == [0, 0, *size]

    def test_edge_fit_is_lower_for_boxes_across_edges(self) -> None:
        labels = np.zeros((40, 80), dtype=np.int64)
        labels[:, 40:] = 1
        whole, left, across = edge_fit(np.array([[0, 0, 80, 40], [0, 0, 40, 40], [20, 0, 60, 40]]), labels)
        assert (whole, left, across) == (1.0, 1.0, 0.0)

    def test_covering_equals_plain_greedy_selection(self) -> None:
        rng = np.random.default_rng(5)
        start = rng.integers(0, 60, (80, 2))
        corners = np.concatenate([start, start + rng.integers(10, 60, (80, 2))], axis=1)
        weights = rng.random(80)
        chosen, gains = pick_covering_boxes(corners, weights, limit=20)
        boxes = to_boxes(corners)
        near = np.stack([best_overlaps(boxes, box[None]) for box in boxes])
        near = np.clip((near - 0.5) / 0.5, 0, 1)
        covered = np.zeros(80)
        for row, gain in zip(chosen, gains, strict=True):
            all_gains = np.maximum(near - covered, 0) @ weights
            assert row == int(all_gains.argmax())
            assert gain == pytest.approx(all_gains.max())
            covered = np.maximum(covered, near[row])
        assert all(before >= after for before, after in pairwise(gains))


@pytest.fixture(scope="module")
def folder(tmp_path_factory: pytest.TempPathFactory) -> Path:
    """Return a folder with a tiny detection model of random weights."""
    import torch
    from transformers import YolosConfig, YolosForObjectDetection
    from transformers.models.yolos import YolosImageProcessorPil

    torch.manual_seed(0)
    config = YolosConfig(
        hidden_size=32,
        num_hidden_layers=2,
        num_attention_heads=2,
        intermediate_size=64,
        image_size=[64, 96],
        patch_size=16,
        num_detection_tokens=20,
        initializer_range=0.3,
    )
    path = tmp_path_factory.mktemp("tiny-yolos")
    YolosForObjectDetection(config).save_pretrained(path)
    YolosImageProcessorPil(size={"shortest_edge": 64, "longest_edge": 96}).save_pretrained(path)
    return path


class TestModels:
    def pictures(self) -> list[Pillow.Image]:
        rng = np.random.default_rng(2)
        sizes = [(80, 120), (60, 90), (80, 120)]
        return [Pillow.fromarray(rng.integers(0, 256, (*size, 3), dtype=np.uint8)) for size in sizes]

    def test_detector_boxes_are_ranked_inside_the_image_and_limited(self, folder: Path) -> None:
        detector = get_detector(f"hf:{folder}", limit=8)
        found = detector.propose(self.pictures())
        assert detector.name == f"hf:{folder.name}"
        assert detector.revision.startswith("sha256:")
        for one, picture in zip(found, self.pictures(), strict=True):
            assert one.scores is not None
            assert 1 <= len(one.corners) <= 8
            assert (np.diff(one.scores) <= 0).all()
            assert (one.corners[:, 2:] <= picture.size).all()
            assert (one.corners[:, 2:] > one.corners[:, :2]).all()

    def test_boxes_are_independent_of_the_batch(self, folder: Path) -> None:
        detector = get_detector(f"hf:{folder}")
        together = detector.propose(self.pictures())
        alone = [detector.propose([picture])[0] for picture in self.pictures()]
        for one, other in zip(together, alone, strict=True):
            assert one.corners.tolist() == other.corners.tolist()

    def test_boxes_equal_the_model_output(self, folder: Path) -> None:
        import torch
        from transformers import AutoModelForObjectDetection
        from transformers.models.yolos import YolosImageProcessorPil

        picture = self.pictures()[0]
        model = AutoModelForObjectDetection.from_pretrained(folder).eval()
        pixels = YolosImageProcessorPil.from_pretrained(folder)(images=[picture], return_tensors="pt")
        with torch.inference_mode():
            output = model(pixel_values=pixels["pixel_values"])
        scores = output.logits[0].softmax(-1)[:, :-1].max(-1).values
        x, y, w, h = output.pred_boxes[0][int(scores.argmax())].tolist()
        width, height = picture.size
        expected = [(x - w / 2) * width, (y - h / 2) * height, (x + w / 2) * width, (y + h / 2) * height]
        (found,) = get_detector(f"hf:{folder}").propose([picture])
        assert found.scores is not None
        assert found.scores[0] == pytest.approx(float(scores.max()))
        assert found.corners[0] == pytest.approx(np.clip(expected, 0, [width, height] * 2), abs=0.51)

    def test_boxes_are_independent_of_threads(self, folder: Path) -> None:
        detector = get_detector(f"hf:{folder}")
        assert detector.parallel  # type: ignore[attr-defined]
        batches = [self.pictures()] * 8
        alone = [one.rows() for one in detector.propose(batches[0])]
        with ThreadPoolExecutor(4) as pool:
            together = list(pool.map(detector.propose, batches))
        for batch in together:
            for one, expected in zip(batch, alone, strict=True):
                assert [row[:4] for row in one.rows()] == [row[:4] for row in expected]

    @pytest.mark.parametrize(
        ("name", "counts"),
        [
            ("config.json", True),
            ("preprocessor_config.json", True),
            ("model.safetensors", True),
            ("model-00001-of-00002.safetensors", True),
            ("pytorch_model.bin", True),
            ("README.md", False),
        ],
    )
    def test_folder_revision_covers_all_loaded_files(
        self, folder: Path, tmp_path: Path, name: str, counts: bool
    ) -> None:
        copy = shutil.copytree(folder, tmp_path / "copy")
        before = get_detector(f"hf:{copy}").revision
        assert before == get_detector(f"hf:{folder}").revision
        path = copy / name
        if name == "model.safetensors":
            content = bytearray(path.read_bytes())
            content[-1] ^= 1
            path.write_bytes(bytes(content))
        else:
            path.write_text((path.read_text() if path.exists() else "") + "\n")
        assert (get_detector(f"hf:{copy}").revision != before) is counts

    def test_hub_files_come_from_one_commit(
        self, folder: Path, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
    ) -> None:
        from huggingface_hub import constants

        monkeypatch.setattr(constants, "HF_HUB_CACHE", str(tmp_path))
        monkeypatch.setattr(constants, "HF_HUB_OFFLINE", True)
        place = tmp_path / "models--someone--tiny"
        for commit in ("a" * 40, "b" * 40):
            shutil.copytree(folder, place / "snapshots" / commit)
            (place / "refs").mkdir(exist_ok=True)
            (place / "refs" / "main").write_text(commit)
            detector = get_detector("hf:someone/tiny")
            assert (detector.name, detector.revision) == ("hf:someone/tiny", commit)
        assert detector.propose(self.pictures())[0].rows()
        earlier = get_detector("hf:someone/tiny", revision="a" * 40)
        assert earlier.revision == "a" * 40
        shutil.rmtree(place / "snapshots" / ("a" * 40))
        with pytest.raises(
            DetectorUnavailable, match=r"the run's commit a{40} is not available.* start a new run"
        ):
            get_detector("hf:someone/tiny", revision="a" * 40)
        assert get_detector(f"hf:{folder}", revision="a" * 40).revision.startswith("sha256:")

    def test_hub_id_is_not_read_from_a_folder_of_that_name(
        self, folder: Path, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
    ) -> None:
        monkeypatch.chdir(tmp_path)
        shutil.copytree(folder, tmp_path / "facebook" / "detr")
        with pytest.raises(
            DetectorUnavailable, match=r"is a hub id, but the folder /.*/facebook/detr would be read instead"
        ):
            get_detector("hf:facebook/detr")
        for source in ("./facebook/detr", f"{tmp_path}/facebook/detr"):
            assert get_detector(f"hf:{source}").name == "hf:detr"

    def test_invalid_detector_name_explains_valid_names(
        self, folder: Path, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
    ) -> None:
        monkeypatch.chdir(tmp_path)
        shutil.copytree(folder, tmp_path / "weights")
        with pytest.raises(
            DetectorUnavailable, match=r"is neither a hub id .*absolute path or as \./weights$"
        ):
            get_detector("hf:weights")

    def test_suppression_leaves_no_two_near_copies(self, folder: Path) -> None:
        (found,) = get_detector(f"hf:{folder}", suppress_over=0.4).propose(self.pictures()[:1])
        boxes = to_boxes(found.corners)
        near = np.stack([best_overlaps(boxes, box[None]) for box in boxes])
        assert (near[~np.eye(len(boxes), dtype=bool)] <= 0.4).all()

    def test_a_model_that_needs_timm_is_refused_in_one_line(self, folder: Path, tmp_path: Path) -> None:
        config = {"model_type": "detr", "use_timm_backbone": True, "backbone": "resnet50"}
        (tmp_path / "config.json").write_text(json.dumps(config))
        (tmp_path / "model.safetensors").write_bytes((folder / "model.safetensors").read_bytes())
        with pytest.raises(DetectorUnavailable, match=r"needs a package .*\(timm\); use a model") as raised:
            get_detector(f"hf:{tmp_path}")
        assert "\n" not in str(raised.value)

    @pytest.mark.parametrize("damage", ["empty", "cut off"])
    def test_a_folder_without_weights_is_refused(self, folder: Path, tmp_path: Path, damage: str) -> None:
        if damage == "cut off":
            for path in folder.iterdir():
                (tmp_path / path.name).write_bytes(path.read_bytes()[:4000])
        with pytest.raises(DetectorUnavailable, match="is not available: give a folder with config"):
            get_detector(f"hf:{tmp_path}")

    @pytest.mark.parametrize("name", ["", "hf:", "yolo", "classical:2"])
    def test_unknown_detector_lists_known_detectors(self, name: str) -> None:
        with pytest.raises(DetectorUnavailable, match="is not known; use classical, or hf: with a hub id"):
            get_detector(name)

    def test_is_hub_id_rejects_paths(self) -> None:
        assert is_hub_id("hustvl/yolos-tiny")
        for source in ("/etc/passwd", "../models/a", "weights", "a/b/c", "..", "a/..", "/srv"):
            assert not is_hub_id(source), source


class TestRecallChart:
    def test_chart_lines_end_at_their_values_and_labels_do_not_overlap(self) -> None:
        coverage = RecallAccumulator(limit=100)
        coverage.add_image([[0.0] * 40 + [0.95] * 60, [0.6] * 100])
        chart = recall_chart(coverage.recall())
        assert [label.text for label in chart.labels] == [
            "IoU > 0.5: 100.0%",
            "IoU > 0.7: 50.0%",
            "IoU > 0.9: 50.0%",
        ]
        assert chart.curves[0].shape.endswith("L1000.0 0.0")
        heights = [float(label.y) for label in chart.labels]
        assert all(below - above >= 15 for above, below in pairwise(heights))
        assert [tick.text for tick in chart.x_ticks] == ["1", "25", "50", "75", "100"]

    def test_chart_of_one_proposal(self) -> None:
        coverage = RecallAccumulator(limit=1)
        coverage.add_image([[0.0]])
        chart = recall_chart(coverage.recall())
        heights = [float(label.y) for label in chart.labels]
        assert max(heights) <= float(chart.plot_bottom)
        assert len(set(heights)) == 3
        assert recall_spark([0.5]).curves[0].shape == "M0.0 12.0L1.0 12.0"


def _grid(size: tuple[int, int]) -> NDArray[np.int64]:
    """A hundred boxes that know nothing of the picture, at five scales."""
    boxes = []
    for share, steps in ((1.0, 1), (0.7, 2), (0.5, 4), (0.33, 5), (0.2, 8)):
        places = np.linspace(0, 1 - share, steps)
        boxes += [
            (x * size[0], y * size[1], share * size[0], share * size[1]) for y in places for x in places
        ]
    return np.rint(boxes[:100]).astype(np.int64)


@pytest.mark.long
def test_detector_covers_objects_of_real_photographs(
    photos: Path, record_property: Callable[..., None]
) -> None:
    """Recall of COCO's boxes by a hundred proposals, against a hundred boxes placed blindly."""
    coco = json.loads((photos.parent / "coco_cc.json").read_text())
    gold: dict[int, list[list[float]]] = {}
    for box in coco["annotations"]:
        gold.setdefault(box["image_id"], []).append(box["bbox"])
    detector = SelectiveSearch()
    ours, blind, large = (
        RecallAccumulator(limit=100),
        RecallAccumulator(limit=100),
        RecallAccumulator(limit=100),
    )
    seconds = 0.0
    for image in coco["images"]:
        with Pillow.open(photos / image["file_name"]) as file:
            picture = file.convert("RGB")
        began = time.process_time()
        (found,) = detector.propose([picture])
        seconds += time.process_time() - began
        assert len(found.corners) == 100
        true = [np.array([box]) for box in gold.get(image["id"], [])]
        covered = [best_overlaps(to_boxes(found.corners), one).tolist() for one in true]
        ours.add_image(covered)
        blind.add_image([best_overlaps(_grid(picture.size), one).tolist() for one in true])
        large.add_image([c for c, one in zip(covered, true, strict=True) if one[0, 2] * one[0, 3] > 96**2])
    figures = {
        "recall@10": ours.recall().share_covered(10, 0.5),
        "recall@100": ours.recall().solvable,
        "recall@100 over 0.7": ours.recall().share_covered(100, 0.7),
        "large": large.recall().solvable,
        "blind": blind.recall().solvable,
        "seconds an image": seconds / len(coco["images"]),
    }
    for name, value in figures.items():
        record_property(name, value)
    assert ours.recall().pairs == len(coco["annotations"])
    assert figures["recall@100"] > 0.35  # most of COCO's boxes are smaller than a tenth of the picture's side
    assert figures["large"] > 0.85
    assert figures["recall@100"] > 1.6 * figures["blind"]


def test_rows_keep_an_order_without_scores() -> None:
    found = DetectedBoxes(np.array([[1, 2, 4, 6]]), None)
    assert found.rows() == [[1, 2, 3, 4, None]]
