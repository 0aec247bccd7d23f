"""Questions as models get them: read from the published layout, with their objects, names and colours."""

import json
from pathlib import Path
from typing import Any

import pytest
from PIL import Image as Pillow

from curation.chooser.objects import (
    COCO_CLASSES,
    ClassVocabulary,
    mentioned_objects,
    model_positions,
    place_words,
)
from curation.chooser.questions import ChoiceQuestion, Stage, add_detections, read_questions
from curation.chooser.texts import (
    NEUTRAL_NAMES,
    colour_objects,
    coloured_text,
    name_objects,
    named_pair,
)
from curation.records import InvalidInput, Region
from hits.domain.images.region_drawing import OBJECT_COLOURS, outline_boxes
from tests.support.curation._chooser_runs import draw_pictures, lines_of, planted_questions
from tests.support.files import is_one_line

LINE = {
    "annot_id": "val-3",
    "objects": ["person", "dog", "person", "chair"],
    "img_fn": "lsmdc_film/clip@0.jpg",
    "metadata_fn": "lsmdc_film/clip@0.json",
    "question": ["Why", "does", [2], "hold", [0, 1], "?"],
    "answer_choices": [["Yes", "."], [[2], "likes", [1], "."], ["No", "."], ["Perhaps", "."]],
    "answer_label": 1,
    "rationale_choices": [["It", "is", "late", "."], [[3], "is", "free", "."], ["A", "."], ["B", "."]],
    "rationale_label": 0,
}


def write(path: Path, *lines: dict[str, Any]) -> Path:
    path.write_text("".join(json.dumps(line) + "\n" for line in lines))
    return path


def question(**changes: Any) -> ChoiceQuestion:
    values: dict[str, Any] = {
        "annot_id": "a",
        "stage": Stage.ANSWER,
        "query": ("Why", "?"),
        "responses": (("Yes",), ("No",), ("Maybe",), ("Never",)),
        "label": 0,
        "objects": ("person", "dog", "person"),
        "image": "a.jpg",
    }
    return ChoiceQuestion(**(values | changes))


def test_both_stages_are_read_from_the_published_layout(tmp_path: Path) -> None:
    path = write(tmp_path / "val.jsonl", LINE)
    (answer,) = read_questions(path, Stage.ANSWER)
    assert answer.query == ("Why", "does", (2,), "hold", (0, 1), "?")
    assert (answer.responses[1], answer.label) == (((2,), "likes", (1,), "."), 1)
    assert (answer.image, answer.metadata) == (LINE["img_fn"], LINE["metadata_fn"])
    (rationale,) = read_questions(path, Stage.RATIONALE)
    assert rationale.query == (*answer.query, (2,), "likes", (1,), "."), (
        "the right answer follows the question"
    )
    assert (rationale.responses[1], rationale.label) == (((3,), "is", "free", "."), 0)


def test_rationales_can_be_conditioned_on_each_answer(tmp_path: Path) -> None:
    held = {name: value for name, value in LINE.items() if not name.endswith("label")}
    path = write(tmp_path / "test.jsonl", held)
    queries = [
        read_questions(path, Stage.RATIONALE, conditioned_on=answer)[0].query[6:] for answer in range(4)
    ]
    assert queries == [("Yes", "."), ((2,), "likes", (1,), "."), ("No", "."), ("Perhaps", ".")]
    assert read_questions(path, Stage.ANSWER)[0].label is None
    with pytest.raises(InvalidInput, match=r"test\.jsonl: line 1: has no answer_label") as refused:
        read_questions(path, Stage.RATIONALE)
    assert is_one_line(refused.value)


@pytest.mark.parametrize(
    ("changes", "message"),
    [
        ({"rationale_choices": None}, "has no rationale_choices"),
        ({"img_fn": "../secret.jpg"}, "leaves the image folder"),
        ({"metadata_fn": "/etc/passwd"}, "leaves the image folder"),
        ({"img_fn": None}, "img_fn is None"),
        ({"rationale_choices": [["A"], ["B"], ["C"]]}, "must have 4 texts"),
        ({"question": ["Why", [4], "?"]}, "tag 4 is not one of the 4 objects"),
    ],
)
def test_a_broken_line_is_refused_by_name(tmp_path: Path, changes: dict[str, Any], message: str) -> None:
    path = write(tmp_path / "val.jsonl", LINE, LINE | {"annot_id": "val-4"} | changes)
    with pytest.raises(InvalidInput, match=rf"val\.jsonl: line 2.*{message}") as refused:
        read_questions(path, Stage.RATIONALE)
    assert is_one_line(refused.value)


def test_an_id_that_occurs_twice_is_refused(tmp_path: Path) -> None:
    with pytest.raises(InvalidInput, match="line 2: annot_id val-3 is that of line 1"):
        read_questions(write(tmp_path / "val.jsonl", LINE, LINE), Stage.ANSWER)


def test_detections_are_read_from_the_metadata(tmp_path: Path) -> None:
    planted = planted_questions(1, split="val")
    images = draw_pictures(tmp_path, planted)
    (read,) = read_questions(write(tmp_path / "val.jsonl", *lines_of(planted)), Stage.ANSWER)
    found = add_detections(read, images)
    assert found.boxes[1] == (25.0, 12.0, 45.0, 32.0)
    assert found.polygons[1] == (((25.0, 12.0), (45.0, 12.0), (45.0, 32.0)),)
    assert add_detections(found, tmp_path / "elsewhere") == found


@pytest.mark.parametrize(
    ("metadata", "message"),
    [
        (None, "cannot be read"),
        ({"boxes": [[0, 0, 5, 5, 0.9]] * 4, "segms": []}, "has not one box"),
        ({"boxes": [[0, 0, 5, 5, 0.9]] * 5, "segms": [[]] * 4}, "has not one box"),
        ({"boxes": [[0, 0, 0, 5, 0.9]] * 5}, "has no area"),
        ({"boxes": [[0, 0, 5]] * 5}, "is not .x1, y1, x2, y2, score."),
        ({"boxes": [[0, 0, 5, 5]] * 5, "segms": [[[1, 2]]] * 5}, "segms are not lists"),
    ],
)
def test_broken_metadata_is_refused_by_name(tmp_path: Path, metadata: Any, message: str) -> None:
    planted = planted_questions(1, split="val")
    draw_pictures(tmp_path, planted)
    path = tmp_path / "film" / "val-0.json"
    path.unlink() if metadata is None else path.write_text(json.dumps(metadata))
    (read,) = read_questions(write(tmp_path / "val.jsonl", *lines_of(planted)), Stage.ANSWER)
    with pytest.raises(
        InvalidInput, match=rf"question val-0: its metadata film/val-0\.json.*{message}"
    ) as error:
        add_detections(read, tmp_path)
    assert is_one_line(error.value)


@pytest.mark.parametrize(
    ("query", "response", "expected"),
    [
        (("Why", (1,)), ("Yes",), (1,)),
        (("Why",), ((2, 1), "run"), (1, 2)),
        (("Why",), ("Everyone", "runs"), (0, 2)),
        (("Why", (1,)), ("everyones", "dog"), (0, 1, 2)),
        (("Why",), ("Yes",), (0, 2)),
    ],
)
def test_a_model_sees_mentioned_objects_or_all_people(query: Any, response: Any, expected: Any) -> None:
    responses = (("No",), response, ("No",), ("No",))
    assert mentioned_objects(question(query=query, responses=responses)) == expected


def test_words_look_at_their_object_or_at_the_whole_image() -> None:
    words, places = place_words(
        ("Why", (0, 2), "run", (5,), "?"), {0: "Casey", 2: "dog", 5: "Riley"}, model_positions((0, 2, 5))
    )
    assert words == ["Why", "Casey", "dog", "run", "Riley", "?"]
    assert places == [0, 1, 2, 0, 3, 0]


def test_classes_are_numbered_as_published_with_the_background_first() -> None:
    vocabulary = ClassVocabulary()
    assert len(vocabulary) == 81
    assert len(set(COCO_CLASSES)) == 80
    assert vocabulary.numbers(["background", "person", "pottedplant", "Potted-Plant", "unicorn"]) == [
        0,
        1,
        59,
        59,
        0,
    ]


def test_people_get_names_in_order_of_mention_and_keep_them() -> None:
    assert len(set(NEUTRAL_NAMES)) == len(NEUTRAL_NAMES) >= 24
    classes = ("person", "dog", "person", "person")
    first, second, third = NEUTRAL_NAMES[:3]
    assert name_objects(classes, ((), ((3,), "hugs", (0,)))) == [second, "dog", third, first]
    pair = named_pair(
        question(query=("Does", (2,), "like", (1,), "?"), objects=classes), ((0,), "and", (2,), "do", ".")
    )
    assert pair == (f"Does {first} like dog?", f"{second} and {first} do.")


def test_texts_name_the_colours_that_are_drawn() -> None:
    asked = question(query=("Why", "does", (2,), "run", "?"))
    colours = colour_objects(mentioned_objects(asked))
    names = list(OBJECT_COLOURS)
    assert colours == {2: names[0]}
    assert coloured_text(asked, ("It", "sees", (2, 1), "."), colours) == (
        f"Why does the person in the {names[0]} box run? It sees dog and the person in the {names[0]} box."
    )
    assert colour_objects(range(len(names) + 1))[len(names)] == names[0]


def test_each_box_is_outlined_in_its_colour() -> None:
    boxes = [Region(10, 10, 40, 30), Region(60, 20, 30, 30)]
    drawn = outline_boxes(Pillow.new("L", (120, 80)), boxes)
    assert (drawn.mode, drawn.size) == ("RGB", (120, 80))
    expected = [tuple(bytes.fromhex(colour[1:])) for colour in OBJECT_COLOURS.values()]
    assert drawn.getpixel((11, 11)) == expected[0]
    assert drawn.getpixel((61, 21)) == expected[1]
    assert drawn.getpixel((30, 25)) == (0, 0, 0), "the inside stays visible"
    wide = outline_boxes(Pillow.new("RGB", (1200, 750)), boxes[:1])
    assert wide.getpixel((19, 25)) == expected[0], "outlines grow with the picture"
