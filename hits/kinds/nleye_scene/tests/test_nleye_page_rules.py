"""The page's verdict on a scene equals the server's, on random texts near every limit."""

import json
import random
import shutil
import subprocess
from typing import Any

import pytest

from hits.domain.answers.scene_rules import MAX_LENGTHS
from hits.kind import InvalidAnswer
from hits.kinds.nleye_scene.kind import KIND
from tests.support.paths import ROOT

SCENES = 500
UNIT = KIND.parse_unit({"number": 1})
PIECES = [
    *("dog", "Dog", "dog’s", "dog's", "…", "'", "-", "é", "e\u0301", "日本", "İ", "ſ", "½", "👍", "🏽"),
    *(" ", "  ", "\n", "\t", "\u00a0", "\u3000", "\u2028", "\x1c", "\u0085", "\ufeff", "\u200b"),
]
RARE = ["\u0007", "\u0000", "\ue000", "\ud800", "\x7f"]


def random_text(pick: random.Random, most: int) -> str:
    text = "".join(pick.choice(PIECES) for _ in range(pick.choice([0, 1, 2, 3, 8])))
    if pick.random() < 0.1:
        text += pick.choice(["ab ", "👍", "e\u0301", "  "]) * most
        text = text[: most + pick.randint(-2, 3)]
    return text + (pick.choice(RARE) if pick.random() < 0.03 else "")


def random_texts(pick: random.Random) -> dict[str, str]:
    texts = {name: random_text(pick, most) for name, most in MAX_LENGTHS.items()}
    if pick.random() < 0.4:
        copy = texts["plausible"]
        texts["implausible"] = pick.choice([copy, copy.upper(), copy.replace(" ", "\u00a0"), f"{copy}."])
    return texts


def server_verdict(texts: dict[str, str]) -> list[str]:
    """Return the fields that the server refuses."""
    facets = {"category": "social", "direction": "forward", "duration": "long", "domain": "other"}
    try:
        KIND.parse_answer(UNIT, {}, {**texts, **facets})
    except InvalidAnswer as error:
        return sorted(problem.field for problem in error.errors)
    return []


def test_page_and_server_refuse_the_same_texts() -> None:
    node = shutil.which("node")
    if node is None:
        pytest.skip("Node.js is not installed: THE PAGE'S RULES ARE NOT COMPARED")
    pick = random.Random(11)
    scenes = [random_texts(pick) for _ in range(SCENES)]
    expected = [server_verdict(texts) for texts in scenes]
    data: dict[str, Any] = {"characters": dict(MAX_LENGTHS), "scenes": scenes}
    done = subprocess.run(
        [node, str(ROOT / "tests/js/helpers/scene-verdicts.mjs")],
        input=json.dumps(data),
        capture_output=True,
        text=True,
        check=True,
    )
    found = [sorted(fields) for fields in json.loads(done.stdout)]
    differing = [row for row in zip(found, expected, scenes, strict=True) if row[0] != row[1]]
    assert not differing, differing[0]
    assert SCENES // 50 < sum(not fields for fields in expected) < SCENES * 3 // 4, "both verdicts occur"
