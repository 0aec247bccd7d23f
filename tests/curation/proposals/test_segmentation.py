"""Instance segmentation models: masks become boxes, classes and outlines."""

from pathlib import Path

import numpy as np
import pytest
from PIL import Image as Pillow

from curation.proposals.detector import DetectedBoxes, DetectorUnavailable
from curation.proposals.factory import get_detector
from curation.proposals.objects import detected_objects
from curation.proposals.polygons import draw_polygons, mask_iou
from curation.proposals.segmentation import rank_masks
from curation.records import InvalidInput
from tests.support.curation.detection_models import save_tiny_segmenter


@pytest.fixture(scope="module")
def folder(tmp_path_factory: pytest.TempPathFactory) -> Path:
    """A folder with a tiny segmentation model of random weights."""
    return save_tiny_segmenter(tmp_path_factory.mktemp("tiny-maskformer"))


def picture() -> Pillow.Image:
    rng = np.random.default_rng(0)
    return Pillow.fromarray(rng.integers(0, 256, (60, 90, 3), dtype=np.uint8))


class TestModel:
    def test_model_gives_classes_boxes_and_outlines_that_fit(self, folder: Path) -> None:
        detector = get_detector(f"mask:{folder}", limit=5)
        assert detector.name == f"mask:{folder.name}"
        assert detector.revision.startswith("sha256:")
        (found,) = detector.propose([picture()])
        assert found.scores is not None
        assert found.labels is not None
        assert found.polygons is not None
        assert 0 < len(found.corners) == len(found.labels) == len(found.polygons) <= 5
        assert set(found.labels) <= {"person", "dog", "cup"}
        assert list(found.scores) == sorted(found.scores, reverse=True)
        for (left, top, right, bottom), polygons in zip(found.corners.tolist(), found.polygons, strict=True):
            assert 0 <= left < right <= 90
            assert 0 <= top < bottom <= 60
            rows, columns = np.nonzero(draw_polygons(polygons, 90, 60))
            assert abs(columns.min() - left) <= 2
            assert abs(rows.max() + 1 - bottom) <= 2

    def test_model_outlines_have_an_iou_of_95_percent_with_its_masks(self, folder: Path) -> None:
        import torch
        from transformers import AutoImageProcessor, AutoModelForUniversalSegmentation

        model = AutoModelForUniversalSegmentation.from_pretrained(folder).eval()
        processor = AutoImageProcessor.from_pretrained(folder, backend="pil")
        with torch.inference_mode():
            outputs = model(**processor(images=[picture()], return_tensors="pt"))
        (raw,) = processor.post_process_instance_segmentation(
            outputs, threshold=0.0, target_sizes=[(60, 90)], return_binary_maps=True
        )
        masks = raw["segmentation"].numpy() > 0
        (found,) = get_detector(f"mask:{folder}").propose([picture()])
        assert found.polygons is not None
        for polygons in found.polygons:
            drawn = draw_polygons(polygons, 90, 60)
            assert max(mask_iou(drawn, mask) for mask in masks) >= 0.95

    def test_min_score_leaves_objects_out(self, folder: Path) -> None:
        (whole,) = get_detector(f"mask:{folder}").propose([picture()])
        assert whole.scores is not None
        limit = float(whole.scores.min() + whole.scores.max()) / 2
        (found,) = get_detector(f"mask:{folder}", min_score=limit).propose([picture()])
        assert found.scores is not None
        assert 0 < len(found.scores) < len(whole.scores)
        assert found.scores.min() >= limit

    def test_a_model_of_another_task_is_refused_in_one_line(self, tmp_path: Path) -> None:
        with pytest.raises(DetectorUnavailable, match="safetensors of an instance segmentation model"):
            get_detector(f"mask:{tmp_path}")


class TestRanking:
    def test_masks_are_ranked_and_empty_ones_left_out(self) -> None:
        masks = [np.zeros((8, 10), dtype=np.bool_) for _ in range(3)]
        masks[0][1:3, 2:5] = True
        masks[2][4:8, 0:10] = True
        found = rank_masks(masks, ["cup", "ghost", "dog"], [0.5, 0.99, 0.8], limit=9)
        assert found.corners.tolist() == [[0, 4, 10, 8], [2, 1, 5, 3]]
        assert found.labels == ("dog", "cup")

    def test_repeated_mask_keeps_its_best_class(self) -> None:
        mask = np.ones((4, 4), dtype=np.bool_)
        assert rank_masks([mask, mask], ["cat", "dog"], [0.4, 0.6], limit=9).labels == ("dog",)

    def test_no_mask_gives_no_object(self) -> None:
        found = rank_masks([], [], [], limit=9)
        assert found.corners.shape == (0, 4)
        assert detected_objects(found) == []


class TestObjectLists:
    BOXES = DetectedBoxes(
        np.array([[5, 5, 9, 9], [1, 1, 4, 4], [0, 0, 2, 2], [0, 0, 3, 3]]),
        np.array([0.9, 0.8, 0.8, 0.69]),
        ("Dog", "Woman", "man", "car"),
    )

    def test_objects_are_ordered_by_score_then_box_and_weak_ones_left_out(self) -> None:
        objects = detected_objects(self.BOXES)
        assert [(item.name, item.box) for item in objects] == [
            ("Dog", (5.0, 5.0, 9.0, 9.0)),
            ("person", (0.0, 0.0, 2.0, 2.0)),
            ("person", (1.0, 1.0, 4.0, 4.0)),
        ]

    def test_person_labels_are_a_choice(self) -> None:
        names = [item.name for item in detected_objects(self.BOXES, min_score=0.0, person_labels={"dog"})]
        assert names == ["person", "man", "Woman", "car"]

    def test_boxes_without_classes_are_refused(self) -> None:
        with pytest.raises(InvalidInput, match="gives no classes; use hf: or mask:"):
            detected_objects(DetectedBoxes(np.array([[0, 0, 2, 2]]), np.array([0.9])))
