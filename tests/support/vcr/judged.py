"""Units of the kinds that judge questions about photos, on photos of 640 × 480 pixels."""

from typing import Any

from hits.models import Image

OBJECTS: list[dict[str, Any]] = [
    {
        "name": "person",
        "box": {"left": 40, "top": 90, "width": 170, "height": 330},
        "polygons": [[[120, 90], [200, 150], [210, 420], [40, 420], [60, 160]]],
    },
    {"name": "person", "box": {"left": 330, "top": 110, "width": 150, "height": 300}, "polygons": []},
    {"name": "suitcase", "box": {"left": 230, "top": 300, "width": 110, "height": 110}, "polygons": []},
    {"name": "handbag", "box": {"left": 360, "top": 250, "width": 60, "height": 60}, "polygons": []},
    {"name": "person", "box": {"left": 520, "top": 150, "width": 60, "height": 130}, "polygons": []},
    {"name": "clock", "box": {"left": 290, "top": 20, "width": 60, "height": 60}, "polygons": []},
]
SHA256 = "0f3c1c5c8a0f6f2f6a1d3f0c9a7be6d2c4b5a69788796a5b4c3d2e1f00112233"
QUESTION = ["Why does ", {"objects": [0]}, " look at ", {"objects": [1]}, " like that?"]
RIGHT = [{"objects": [0]}, " does not want to say goodbye to ", {"objects": [1]}, "."]
WRONG: list[list[Any]] = [
    [{"objects": [0, 1]}, " have just been told that the soup is too salty."],
    ["She wants to know where ", {"objects": [4]}, " has bought the ", {"objects": [3]}, "."],
    ["No, it is still too early for that."],
]
RATIONALE = [
    {"objects": [1]},
    " holds the ",
    {"objects": [2]},
    " and they stand below a ",
    {"objects": [5]},
    ", as people do who wait for a train.",
]


def choice_unit(image: Image, *, stage: str = "answer", item: str = "", **more: Any) -> dict[str, Any]:
    """Return a unit of ``vcr_choice`` whose right choice is the third."""
    texts = [*WRONG[:2], RIGHT if stage == "answer" else RATIONALE, WRONG[2]]
    return {
        "item": item or f"1-val-0-{stage}",
        "triplet": "c" * 32,
        "stage": stage,
        "image": image.pk,
        "objects": OBJECTS,
        "question": QUESTION,
        "answer": RIGHT if stage == "rationale" else None,
        "choices": [{"text": text, "record": f"{number}" * 32} for number, text in enumerate(texts)],
        "label": 2,
        **more,
    }


def review_unit(image: Image, *, triplets: int = 2) -> dict[str, Any]:
    """Return a unit of ``work_review``."""
    rows = [
        {"question": QUESTION, "answer": RIGHT, "rationale": RATIONALE, "likelihood": "likely"},
        {
            "question": ["What will ", {"objects": [1]}, " do next?"],
            "answer": [{"objects": [1]}, " will get on the train."],
            "rationale": ["It is what ", {"objects": [1]}, " will do next."],
            "likelihood": "possible",
        },
        {
            "question": ["Who is ", {"objects": [4]}, " waiting for?"],
            "answer": [{"objects": [4]}, " waits for nobody and only looks on."],
            "rationale": [{"objects": [4]}, " stands far away and has no luggage."],
            "likelihood": "unlikely",
        },
    ]
    return {
        "submission": "0123456789abcdef" * 2,
        "image": image.pk,
        "objects": OBJECTS,
        "objects_sha256": SHA256,
        "captions": ["They wait for a train.", "SOMEONE puts down the suitcase and looks away."],
        "triplets": [{"record": f"{number}" * 32, **row} for number, row in enumerate(rows[:triplets])],
    }
