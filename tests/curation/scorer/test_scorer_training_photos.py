"""A tiny model learns from real photographs on a CPU."""

import json
import time
from collections import defaultdict
from pathlib import Path
from typing import Any

import numpy as np
import pytest

from curation.scorer.model.folder import load_scorer
from curation.scorer.train import train
from curation.scorer.training.journal import read_losses, read_validations

BOXES_PER_PHOTO, HELD_OUT = 3, 24
SETTINGS = {
    "model": "tiny",
    "batch_size": 32,
    "chunk_size": 16,
    "learning_rate": 1e-3,
    "warmup_steps": 5,
    "epochs": 30,
    "max_steps": 48,
    "checkpoint_every": 24,
    "augment": False,  # it learns these pairs by heart, sooner
}


def pairs_of(photos: Path) -> list[list[dict[str, Any]]]:
    """Return the pairs of each photo: a box, its category as the clue, a caption as the inference."""
    raw = json.loads((photos.parent / "coco_cc.json").read_text())
    names = {row["id"]: row["name"] for row in raw["categories"]}
    captions, boxes = defaultdict(list), defaultdict(list)
    for row in raw["captions"]:
        captions[row["image_id"]].append(row["caption"])
    for row in sorted(raw["annotations"], key=lambda row: -row["area"]):
        boxes[row["image_id"]].append(row)
    return [
        _pairs(image, boxes[image["id"]][:BOXES_PER_PHOTO], captions[image["id"]], names)
        for image in raw["images"]
    ]


def _pairs(
    image: dict[str, Any], boxes: list[dict[str, Any]], captions: list[str], names: dict[int, str]
) -> list[dict[str, Any]]:
    seen = sorted({names[box["category_id"]] for box in boxes})
    written = captions or [f"a place with {' and '.join(seen)}"]
    return [
        {
            "id": f"{image['id']}-{number}",
            "image": image["file_name"],
            "boxes": [dict(zip(("left", "top", "width", "height"), map(_whole, box["bbox"]), strict=True))],
            "clue": names[box["category_id"]],
            "inference": written[number % len(written)],
        }
        for number, box in enumerate(boxes)
    ]


def _whole(value: float) -> int:
    return max(1, int(value))


@pytest.mark.photos
@pytest.mark.usefixtures("one_thread")
@pytest.mark.long
def test_the_loss_falls_on_the_photographs(photos: Path, tmp_path: Path) -> None:
    per_photo = pairs_of(photos)
    assert len(per_photo) == 104
    for name, some in (("train.jsonl", per_photo[HELD_OUT:]), ("val.jsonl", per_photo[:HELD_OUT])):
        lines = [json.dumps(pair) + "\n" for pairs in some for pair in pairs]
        (tmp_path / name).write_text("".join(lines))
    run = {"format": "deerstalker-run/1", "config": SETTINGS, "images": str(photos), "provenance": {}}
    (tmp_path / "run.json").write_text(json.dumps(run))
    began = time.monotonic()
    result = train(tmp_path)
    assert time.monotonic() - began < 120, "seconds; it takes under ten on two quiet cores"
    losses = [row["loss"] for row in read_losses(tmp_path)]
    assert result.steps == len(losses) == 48
    assert np.mean(losses[-5:]) < np.mean(losses[:5]) - 0.3
    validations = read_validations(tmp_path)
    assert [row["step"] for row in validations] == [24, 48]
    assert load_scorer(tmp_path / "best").sha256 == result.weights_sha256
