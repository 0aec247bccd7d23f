"""Published metadata: outlines are kept, objects are never renumbered, what exceeds the image is cut and counted."""

import json
from pathlib import Path
from typing import Any

import pytest
from hypothesis import given
from hypothesis import strategies as st

from curation.records import InvalidInput
from curation.sources.detection_files import read_detections, stem
from curation.sources.objects import fit_objects
from curation.sources.polygon_cuts import cut_polygons
from curation.sources.records import SourceRegion
from curation.sources.vcr_metadata import parse_metadata

ABOUT: dict[str, Any] = {
    "boxes": [[1.5, 2, 20, 30, 0.98], [0, 0, 64, 48, 0.71]],
    "segms": [[[[2, 3], [19, 3], [10, 29]], [[1, 1], [2, 1], [2, 2]]], []],
    "names": ["person", "dog"],
    "width": 64,
    "height": 48,
}
POINT = st.tuples(st.floats(-20, 84), st.floats(-20, 68))


def parse(**changes: Any) -> Any:
    return parse_metadata(json.loads(json.dumps(ABOUT | changes)), "a@0.json")


class TestMetadata:
    def test_outlines_scores_and_names_are_kept(self) -> None:
        found = parse()
        assert (found.width, found.height) == (64, 48)
        first, second = found.objects
        assert (first.text, first.score, first.box) == ("person", 0.98, (1.5, 2.0, 20.0, 30.0))
        assert first.polygons == (
            ((2.0, 3.0), (19.0, 3.0), (10.0, 29.0)),
            ((1.0, 1.0), (2.0, 1.0), (2.0, 2.0)),
        )
        assert second.polygons == ()

    @pytest.mark.parametrize("segms", [None, [[], []], [[[]], [[[1, 2], [3, 4]]]], [None, None]])
    def test_empty_masks_have_no_outline(self, segms: Any) -> None:
        assert [item.polygons for item in parse(segms=segms).objects] == [(), ()]

    @pytest.mark.parametrize(
        ("changes", "message"),
        [
            ({"names": ["person"]}, "has 2 boxes and 1 names"),
            ({"segms": [[]]}, "has 2 boxes and 1 segms"),
            ({"segms": [[], "x"]}, 'segms 1: is "x"; it must be a list of polygons'),
            ({"segms": [[], [[[1, 2], [3]]]]}, r"segms 1: \[3\] is not a point"),
            (
                {"segms": [[], [[[1, 2], [3, "4"], [5, 6]]]]},
                "segms 1: a coordinate is '4'; it must be a number",
            ),
            ({"boxes": [[1, 2, 3, 4, "high"], [0, 0, 1, 1]]}, "box 0: its score is 'high'"),
        ],
    )
    def test_malformed_metadata_is_refused_by_place(self, changes: dict[str, Any], message: str) -> None:
        with pytest.raises(InvalidInput, match=f"a@0.json.*{message}"):
            parse(**changes)


class TestFitting:
    def test_objects_keep_their_order_and_number(self) -> None:
        regions = [
            SourceRegion("0", (-5, 10, 30, 20), "dog", 0.2, (((-5.0, 10.0), (30.0, 10.0), (30.0, 20.0)),)),
            SourceRegion("1", (70, 10, 90, 20), "ghost", 0.9, (((70.0, 10.0), (90.0, 10.0), (90.0, 20.0)),)),
            SourceRegion("2", (1, 1, 9, 9), "cup"),
        ]
        found = fit_objects(regions, (64, 48), (64, 48))
        assert [(item.name, item.box, item.score) for item in found.objects] == [
            ("dog", (0.0, 10.0, 30.0, 20.0), 0.2),
            ("ghost", (64.0, 10.0, 64.0, 20.0), 0.9),
            ("cup", (1, 1, 9, 9), 1.0),
        ]
        assert (found.cut_boxes, found.cut_polygons) == (2, 2)
        assert found.objects[1].polygons == ()
        assert min(x for x, _ in found.objects[0].polygons[0]) == 0

    def test_objects_are_scaled_with_the_image(self) -> None:
        region = SourceRegion("0", (2, 4, 10, 20), "cup", 0.8, (((2.0, 4.0), (10.0, 4.0), (10.0, 20.0)),))
        (found,) = fit_objects([region], (64, 48), (128, 96)).objects
        assert found.box == (4, 8, 20, 40)
        assert found.polygons == (((4.0, 8.0), (20.0, 8.0), (20.0, 40.0)),)


class TestCuts:
    def test_square_across_the_corner_is_cut_to_the_inside(self) -> None:
        square = ((-4.0, -4.0), (4.0, -4.0), (4.0, 4.0), (-4.0, 4.0))
        inside, cut = cut_polygons([square], 10, 10)
        assert cut == 1
        assert set(inside[0]) == {(0.0, 0.0), (4.0, 0.0), (4.0, 4.0), (0.0, 4.0)}

    def test_polygons_on_the_edge_are_left_alone(self) -> None:
        whole = ((0.0, 0.0), (10.0, 0.0), (10.0, 10.0))
        assert cut_polygons([whole], 10, 10) == ((whole,), 0)

    @given(st.lists(POINT, min_size=3, max_size=8))
    def test_no_point_is_left_outside(self, polygon: list[tuple[float, float]]) -> None:
        inside, cut = cut_polygons([polygon], 64, 48)
        assert cut == (not all(0 <= x <= 64 and 0 <= y <= 48 for x, y in polygon))
        assert all(-1e-9 <= x <= 64 + 1e-9 and -1e-9 <= y <= 48 + 1e-9 for part in inside for x, y in part)


class TestFiles:
    def test_folder_file_and_lines_name_their_images(self, tmp_path: Path) -> None:
        (tmp_path / "m").mkdir()
        (tmp_path / "m" / "a@0.json").write_text(json.dumps(ABOUT))
        (tmp_path / "m" / "b@1.json").write_text(json.dumps(ABOUT))
        lines = tmp_path / "all.jsonl"
        lines.write_text(
            "".join(json.dumps(ABOUT | {"img_fn": f"m/{name}.jpg"}) + "\n" for name in ("a@0", "b@1"))
        )
        assert [record.name for record in read_detections(tmp_path)] == ["m/a@0", "m/b@1"]
        assert [record.name for record in read_detections(lines)] == ["m/a@0", "m/b@1"]
        assert [record.name for record in read_detections(tmp_path / "m" / "a@0.json")] == ["a@0"]

    def test_only_suffixes_of_images_and_metadata_are_removed(self) -> None:
        assert stem("7_Moor_00.00.10.000-00.00.12.500@3.jpg") == "7_Moor_00.00.10.000-00.00.12.500@3"
        assert stem("7_Moor_00.00.10.000-00.00.12.500@3") == "7_Moor_00.00.10.000-00.00.12.500@3"

    @pytest.mark.parametrize(
        ("changes", "message"),
        [
            ({"boxes": [[1, 2, 1, 30, 0.9], [0, 0, 9, 9, 0.9]]}, "box 0: has no area"),
            (
                {"boxes": [[1, 2, 9, 30, 0.9], [70, 0, 90, 9, 0.9]]},
                "box 1: is outside of its image of 64 × 48",
            ),
            (
                {"boxes": [[1, 2, 9, 30, 1.9], [0, 0, 9, 9, 0.9]]},
                "box 0: its score is 1.9; it must be from 0 to 1",
            ),
            ({"names": ["person", " "]}, "box 1: its name is empty"),
        ],
    )
    def test_impossible_object_is_refused_by_line(
        self, tmp_path: Path, changes: dict[str, Any], message: str
    ) -> None:
        path = tmp_path / "a.jsonl"
        path.write_text(
            json.dumps(ABOUT | {"image": "x"}) + "\n" + json.dumps(ABOUT | changes | {"image": "y"}) + "\n"
        )
        with pytest.raises(InvalidInput, match=f"a.jsonl: line 2, {message}"):
            list(read_detections(path))

    def test_a_line_without_an_image_is_refused(self, tmp_path: Path) -> None:
        path = tmp_path / "a.jsonl"
        path.write_text(json.dumps(ABOUT) + "\n")
        with pytest.raises(InvalidInput, match=r"line 1: image is None; it must be a text"):
            list(read_detections(path))

    def test_a_folder_without_metadata_is_refused(self, tmp_path: Path) -> None:
        with pytest.raises(InvalidInput, match=r"has no \.json file"):
            list(read_detections(tmp_path))
