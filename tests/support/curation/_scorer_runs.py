"""Run folders for tests of training: coloured squares whose colour their texts name."""

import json
from pathlib import Path
from typing import Any

import numpy as np
from PIL import Image as Pillow

COLOURS = {"red": (220, 30, 30), "green": (30, 200, 40), "blue": (40, 50, 220), "yellow": (230, 220, 40)}
SETTINGS = {
    "model": "tiny",
    "batch_size": 8,
    "learning_rate": 1e-3,
    "warmup_steps": 2,
    "epochs": 1,
    "checkpoint_every": 2,
    "precision": "fp32",
    "device": "cpu",
}


def make_run(folder: Path, *, pairs: int = 24, val: int = 8, **settings: Any) -> Path:
    """Write a run's folder, with its pictures beside it."""
    images = folder.parent / "pictures"
    images.mkdir(parents=True, exist_ok=True)
    folder.mkdir(parents=True)
    generator = np.random.default_rng(0)
    lines = [json.dumps(_pair(images, number, generator)) + "\n" for number in range(pairs + val)]
    (folder / "train.jsonl").write_text("".join(lines[:pairs]))
    (folder / "val.jsonl").write_text("".join(lines[pairs:]))
    run = {
        "format": "deerstalker-run/1",
        "config": SETTINGS | settings,
        "images": str(images),
        "provenance": {},
    }
    (folder / "run.json").write_text(json.dumps(run))
    return folder


def _pair(images: Path, number: int, generator: np.random.Generator) -> dict[str, Any]:
    name = list(COLOURS)[number % len(COLOURS)]
    ground = generator.integers(0, 90, (40, 48, 3), dtype=np.uint8)
    picture = Pillow.fromarray(ground)
    box = {"left": 4 + number % 7, "top": 3 + number % 5, "width": 24, "height": 20}
    corner = (box["left"], box["top"])
    picture.paste(COLOURS[name], (*corner, corner[0] + box["width"], corner[1] + box["height"]))
    picture.save(images / f"{number}.png")
    return {
        "id": f"pair-{number}",
        "image": f"{number}.png",
        "boxes": [box],
        "clue": f"a {name} patch {number}",
        "inference": f"somebody likes {name}, number {number}",
    }
