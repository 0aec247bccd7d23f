"""The objects of an image as a unit has them."""

import pytest
from pydantic import ValidationError

from hits.domain.images.detections import DetectedObject, page_objects
from hits.domain.images.unit_objects import (
    MAX_OBJECTS,
    UnitObject,
    check_unit_text,
    object_names,
    objects_of_unit,
)

FOUND = [
    DetectedObject("person", (1.2, 2.0, 30.5, 40.0), 0.9, (((1.2, 2.0), (30.5, 2.0), (20.0, 40.0)),)),
    DetectedObject("dog", (-3.0, 5.0, 12.0, 900.0), 0.8),
]


def test_unit_object_accepts_what_page_objects_returns() -> None:
    rows = page_objects(FOUND, width=64, height=48)
    assert [UnitObject.model_validate(row).model_dump() for row in rows] == rows
    assert object_names(rows) == ["person", "dog"]


def test_a_unit_holds_the_first_objects_of_a_longer_list() -> None:
    assert objects_of_unit(FOUND) == FOUND
    assert objects_of_unit(range(MAX_OBJECTS + 1)) == range(MAX_OBJECTS)


@pytest.mark.parametrize(
    "change",
    [
        {"name": ""},
        {"box": {"left": 0, "top": 0, "width": 0, "height": 1}},
        {"score": 0.5},
        {"polygons": [[]]},
        {"polygons": [[[1], [2], [3]]]},
        {"polygons": [[[1, 2]] * 201]},
    ],
)
def test_unit_object_with_a_wrong_field_is_refused(change: dict[str, object]) -> None:
    (row, _) = page_objects(FOUND, width=64, height=48)
    with pytest.raises(ValidationError):
        UnitObject.model_validate(row | change)


def test_check_unit_text_refuses_foreign_tags_and_empty_texts() -> None:
    check_unit_text(["Why is ", {"objects": [0, 1]}, " here?"], FOUND)
    with pytest.raises(ValueError, match=r"^segment 1 has the tag 3, but the image has 2 objects"):
        check_unit_text([{"objects": [2]}], FOUND)
    with pytest.raises(ValueError, match=r"^is empty"):
        check_unit_text([" "], FOUND)
