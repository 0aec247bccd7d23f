"""Run folders for tests of choosers: a planted task that only somebody who sees the objects can solve.

Every image has five people, each in a colour. The question names a colour, and each answer points at one person; the
right one has the colour. The rationale points at the same person.
"""

import hashlib
import json
from collections.abc import Sequence
from dataclasses import dataclass
from pathlib import Path
from typing import Any

import numpy as np
from numpy.typing import NDArray
from PIL import Image as Pillow

from curation.chooser.config import FEATURES_FOLDER, ChooserConfig
from curation.chooser.recipes import TINY, make_config
from curation.chooser.training.inputs import write_run
from curation.features.shards import EncodedItem, FeatureSpec, ShardFolder, combine_hashes

COLOURS = {
    "red": (220, 20, 20),
    "green": (20, 200, 30),
    "blue": (30, 40, 230),
    "yellow": (240, 230, 30),
    "white": (250, 250, 250),
    "purple": (150, 20, 190),
}
PEOPLE, VISUAL, NOISE = 5, 48, 0.3
WIDTH, HEIGHT, SIDE = 120, 60, 20  # pixels of pictures and of people in them
Line = dict[str, Any]
Vectors = NDArray[np.float32]


@dataclass(frozen=True)
class PlantedQuestion:
    """A question in the published layout, and the number of each person's colour."""

    line: Line
    colours: tuple[int, ...]


def planted_questions(count: int, *, split: str, seed: int = 0) -> list[PlantedQuestion]:
    """Return questions; equal seeds and splits give equal ones."""
    generator = np.random.default_rng((seed, *split.encode()))
    found = []
    for number in range(count):
        colours = generator.permutation(len(COLOURS))[:PEOPLE].tolist()
        choices, label = generator.permutation(PEOPLE)[:4].tolist(), int(generator.integers(4))
        name = list(COLOURS)[colours[choices[label]]]
        found.append(PlantedQuestion(_question(f"{split}-{number}", name, choices, label), tuple(colours)))
    return found


def lines_of(questions: Sequence[PlantedQuestion]) -> list[Line]:
    """Return the questions in the published layout."""
    return [question.line for question in questions]


def _question(name: str, colour: str, choices: Sequence[int], label: int) -> Line:
    return {
        "annot_id": name,
        "img_id": name,
        "img_fn": f"film/{name}.png",
        "metadata_fn": f"film/{name}.json",
        "movie": "film",
        "match_fold": f"{name.partition('-')[0]}-0",
        "objects": ["person"] * PEOPLE,
        "question": ["Who", "is", colour, "?"],
        "answer_choices": [["It", "is", [index], "."] for index in choices],
        "answer_label": label,
        "rationale_choices": [[[index], "is", colour, "."] for index in choices],
        "rationale_label": label,
    }


def planted_vectors(questions: Sequence[PlantedQuestion], *, blank: bool = False) -> Vectors:
    """Return the (n, 6, 48) vectors of images and their people. blank: whether nobody has a colour."""
    looks = np.random.default_rng(0).normal(size=(len(COLOURS), VISUAL))
    noise = np.random.default_rng(1).normal(size=(len(questions), PEOPLE, VISUAL))
    vectors = np.zeros((len(questions), 1 + PEOPLE, VISUAL), dtype=np.float32)
    if not blank:
        vectors[:, 1:] = looks[[question.colours for question in questions]] + NOISE * noise
    return vectors


def store_vectors(folder: Path, lines: Sequence[Line], vectors: Vectors) -> Path:
    """Write vectors as a sealed folder, in which R2C finds those of its objects."""
    ids = [
        line["metadata_fn"] + f"#{index - 1}" if index else line["img_fn"]
        for line in lines
        for index in range(vectors.shape[1])
    ]
    items = [EncodedItem(name, hashlib.sha256(name.encode()).hexdigest()) for name in ids]
    spec = FeatureSpec("planted", "", "object", len(ids), combine_hashes([item.sha256 for item in items]))
    shards, rows = ShardFolder(folder), vectors.reshape(-1, vectors.shape[-1])
    shards.write_items(items)
    for number in range(spec.shard_count):
        shards.write(number, rows[spec.rows(number).start : spec.rows(number).stop])
    shards.seal(spec)
    return folder


def draw_pictures(images: Path, questions: Sequence[PlantedQuestion]) -> Path:
    """Write a picture of each question with its metadata: five squares on a dark ground."""
    (images / "film").mkdir(parents=True, exist_ok=True)
    for question in questions:
        picture = Pillow.new("RGB", (WIDTH, HEIGHT), (40, 40, 40))
        boxes, outlines = [], []
        for number, colour in enumerate(question.colours):
            left, top = 2 + 23 * number, 5 + 7 * number
            edges = (left, top, left + SIDE, top + SIDE)
            picture.paste(list(COLOURS.values())[colour], edges)
            boxes.append([*map(float, edges), 0.9])
            outlines.append([[[edges[0], edges[1]], [edges[2], edges[1]], [edges[2], edges[3]]]])
        picture.save(images / question.line["img_fn"])
        metadata = {"boxes": boxes, "segms": outlines, "names": question.line["objects"]}
        (images / question.line["metadata_fn"]).write_text(
            json.dumps(metadata | {"width": WIDTH, "height": HEIGHT})
        )
    return images


def planted_config(model: str = "r2c", **settings: Any) -> ChooserConfig:
    """Return a tiny model's settings; R2C reads stored vectors."""
    fixed = {"visual": "features", "stage": "answer", "device": "cpu", "precision": "fp32"}
    return make_config(model, TINY, **(fixed | settings))


def make_planted_run(
    folder: Path, *, train: int = 96, val: int = 48, seed: int = 0, blank: bool = False, **settings: Any
) -> Path:
    """Write the folder of a run on the planted task, with stored vectors or, if the model sees pixels, pictures."""
    questions = planted_questions(train, split="train", seed=seed)
    held = planted_questions(val, split="val", seed=seed)
    config = planted_config(**settings)
    images = folder.parent / "images"
    run = write_run(folder, config, images=images, train=lines_of(questions), val=lines_of(held))
    if config.visual == "features" and config.model == "r2c":
        vectors = planted_vectors([*questions, *held], blank=blank)
        store_vectors(run / FEATURES_FOLDER, lines_of([*questions, *held]), vectors)
    else:
        draw_pictures(images, [*questions, *held])
    return run


def tiny_network(**sizes: Any) -> Any:
    """Return a ResNet of random weights, small but laid out as ResNet-50."""
    from transformers import ResNetConfig, ResNetModel

    settings = {"embedding_size": 8, "hidden_sizes": [32, 32, 64, 128], "depths": [1, 1, 1, 1]}
    return ResNetModel(ResNetConfig(**(settings | sizes)))
