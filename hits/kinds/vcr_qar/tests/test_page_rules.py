"""The page's verdict on an answer equals the server's, on random answers near every limit."""

import json
import random
import shutil
import subprocess
from typing import Any

import pytest

from hits.domain.answers.triplets import LIKELIHOODS, WORDS, page_limits
from hits.domain.images.image_facts import ImageFacts
from hits.kind import InvalidAnswer
from hits.kinds.vcr_qar.kind import KIND
from tests.support.paths import ROOT

ANSWERS = 1000
NAMES = ["person", "person", "dog", "dining table", "cup", "person", "chair", "book", "tv", "bottle", "cat"]
BOX = {"left": 1, "top": 1, "width": 9, "height": 9}
UNIT = {
    "image": 1,
    "objects": [{"name": name, "box": BOX, "polygons": []} for name in NAMES],
    "objects_sha256": "ab" * 32,
    "captions": [],
    "names": [],
}
IMAGES = {1: ImageFacts(1, "http://127.0.0.1:8000/1.jpg", 640, 480)}
# Between words, and inside them: what counting words, characters and white space may trip over.
GAPS = [
    *(" ", "  ", "\t", "\n", ", ", ". ", " – ", "-", " ' ", "…"),
    *("\u00a0", "\u2009", "\u3000", "\u2028", "\x1c", "\u0085", "\u200b"),
]
WORD_PARTS = [
    *("they", "don't", "rock'n'roll", "’tis", "2.5", "o'clock", "a_b", "I", "'", "''"),
    *("é", "e\u0301", "日本", "ſ", "½", "x²", "naïve", "👍", "🏽", "\u0301", "\ufeff", "ﬁ", "٣", "क्षि"),
]
RARE = ["\u0007", "\u0000", "\ue000", "\ud800"]


def random_text(pick: random.Random, field: str) -> list[Any]:
    """Return segments of a text whose number of words is near a limit of its field, often."""
    limits = WORDS[field]
    rare = [0, limits.least - 1, limits.most - 1, limits.most, limits.most + 1]
    near = [*rare, *[limits.least] * 3, *[limits.least + 2] * 4]
    count = pick.choice(near)
    text: list[Any] = []
    for _ in range(count):
        if pick.random() < 0.2:
            text.append({"objects": random_objects(pick)})
        else:
            text.append(pick.choice(WORD_PARTS) if pick.random() < 0.5 else "word" * pick.randint(1, 4))
        text.append(pick.choice(GAPS) if pick.random() < 0.3 else " ")
    if pick.random() < 0.02:
        text.insert(pick.randint(0, len(text)), pick.choice(RARE))
    return text


def random_objects(pick: random.Random) -> list[int]:
    if pick.random() < 0.01:
        return [pick.choice([-1, len(NAMES), 99])]
    return [pick.randrange(len(NAMES)) for _ in range(pick.choice([1, 1, 1, 2, 3]))]


def random_answer(pick: random.Random) -> dict[str, Any]:
    return {
        "triplets": [
            {field: random_text(pick, field) for field in WORDS} | {"likelihood": pick.choice(LIKELIHOODS)}
            for _ in range(pick.randint(1, 3))
        ],
        "interest": pick.choice([-1, 0, 1]),
        "objects_sha256": UNIT["objects_sha256"],
    }


def server_verdict(answer: dict[str, Any]) -> list[str]:
    """Return the fields that the server refuses."""
    try:
        KIND.parse_answer(UNIT, IMAGES, answer)
    except InvalidAnswer as error:
        return sorted(problem.field for problem in error.errors)
    return []


def page_verdicts(answers: list[dict[str, Any]]) -> list[list[str]]:
    """Return the fields that the page refuses, for each answer; one process of node for all."""
    node = shutil.which("node")
    if node is None:
        pytest.skip("Node.js is not installed: THE PAGE'S RULES ARE NOT COMPARED")
    data = json.dumps({"limits": page_limits(), "names": NAMES, "answers": answers})
    script = ROOT / "tests/js/helpers/page-verdicts.mjs"
    done = subprocess.run([node, str(script)], input=data, capture_output=True, text=True, check=True)
    return [sorted(fields) for fields in json.loads(done.stdout)]


def test_the_page_and_the_server_refuse_the_same_fields() -> None:
    pick = random.Random(7)
    answers = [random_answer(pick) for _ in range(ANSWERS)]
    expected = [server_verdict(answer) for answer in answers]
    found = page_verdicts(answers)
    differing = [
        (page, server, answer)
        for page, server, answer in zip(found, expected, answers, strict=True)
        if page != server
    ]
    assert not differing, differing[0]
    accepted = sum(not fields for fields in expected)
    assert ANSWERS // 50 < accepted < ANSWERS // 2, "both verdicts occur"
