"""``manage.py build_comparison_sets``: hard candidates for people to rate, by the rules of paper 001 E."""

from argparse import ArgumentParser
from dataclasses import asdict
from pathlib import Path
from typing import Any

import numpy as np
from numpy.typing import NDArray

from curation.evaluation.inputs import read_json, read_npy
from curation.management.naming import name_file
from curation.negatives.comparison_sets import (
    ComparisonSetOptions,
    ComparisonSetResult,
    build_comparison_sets,
)
from curation.negatives.filters import keep_soft
from curation.negatives.greedy import Diversity
from curation.negatives.plausibility import EmbeddingPlausibility, PlausibilityMatrix, PlausibilityRows
from curation.records import InvalidInput
from hits.management.base import DeerstalkerCommand, bad_input, emit_json

FILES = {
    "plausibility": "plausibility",
    "image embeddings": "image_embeddings",
    "inference embeddings": "inference_embeddings",
    "text embeddings": "text_embeddings",
    "candidates": "candidates",
}


class Command(DeerstalkerCommand):
    """Choose comparison sets from files."""

    help = "Choose comparison sets from a plausibility matrix, or from embeddings that give it by blocks."

    def add_arguments(self, parser: ArgumentParser) -> None:
        """Declare the flags."""
        super().add_arguments(parser)
        parser.add_argument(
            "--plausibility", type=Path, help="(instances, inferences), the gold on the diagonal"
        )
        parser.add_argument("--image-embeddings", type=Path, help="(instances, d), instead of --plausibility")
        parser.add_argument("--inference-embeddings", type=Path, help="(inferences, d)")
        parser.add_argument("--texts", type=Path, required=True, help="JSON list of all inferences")
        parser.add_argument(
            "--text-embeddings", type=Path, required=True, help="(inferences, e) sentence vectors"
        )
        parser.add_argument("--candidates", type=Path, help="JSON list of ids left by soft de-duplication")
        parser.add_argument("--diversity", choices=[d.value for d in Diversity], default=Diversity.MEAN.value)
        parser.add_argument("--size", type=int, default=10)
        parser.add_argument("--min-candidates", type=int, default=20)
        parser.add_argument("--max-verbatim", type=int, default=3)
        parser.add_argument(
            "--seed",
            type=int,
            help="without --candidates: draw the member kept of each cluster; its lowest id if absent",
        )

    def handle(self, *args: Any, **options: Any) -> None:
        """Build and print."""
        try:
            result = _build(options)
        except InvalidInput as error:
            files = {label: options[flag] for label, flag in FILES.items()}
            raise bad_input(name_file(str(error), files)) from error
        if options["json"]:
            emit_json(
                self,
                {
                    "sets": [asdict(item) for item in result.sets],
                    "skipped": [asdict(item) for item in result.skipped],
                },
            )
        else:
            self.stdout.write(f"{len(result.sets)} sets, {len(result.skipped)} instances skipped")


def _build(options: dict[str, Any]) -> ComparisonSetResult:
    texts = _texts(options["texts"])
    vectors = _matrix(options["text_embeddings"])
    kept = _candidates(options["candidates"]) if options["candidates"] else _kept(vectors, options["seed"])
    return build_comparison_sets(
        _plausibility(options),
        texts,
        vectors,
        kept=kept,
        options=ComparisonSetOptions(
            size=options["size"],
            min_candidates=options["min_candidates"],
            max_verbatim=options["max_verbatim"],
            diversity=Diversity(options["diversity"]),
        ),
    )


def _kept(vectors: NDArray[np.floating], seed: int | None) -> list[int]:
    if seed is not None and seed < 0:
        raise InvalidInput(f"--seed {seed}: is negative; give 0 or more")
    generator = None if seed is None else np.random.default_rng(seed)
    return [int(index) for index in keep_soft(vectors, generator=generator)]


def _plausibility(options: dict[str, Any]) -> PlausibilityRows:
    images, inferences = options["image_embeddings"], options["inference_embeddings"]
    if options["plausibility"] and (images or inferences):
        raise InvalidInput("--plausibility and embeddings are both given; leave one out")
    if options["plausibility"]:
        return PlausibilityMatrix(_matrix(options["plausibility"]))
    if not (images and inferences):
        raise InvalidInput("give --plausibility, or --image-embeddings together with --inference-embeddings")
    return EmbeddingPlausibility(_matrix(images), _matrix(inferences))


def _matrix(path: Path) -> NDArray[np.floating]:
    array = read_npy(path, memory_map=True)
    if array.ndim != 2 or not np.issubdtype(array.dtype, np.floating):  # noqa: PLR2004 - rows and columns
        raise InvalidInput(f"{path}: is {array.dtype} of shape {array.shape}; save float rows and columns")
    return array


def _texts(path: Path) -> list[str]:
    texts = read_json(path)
    if not isinstance(texts, list) or not all(isinstance(text, str) for text in texts):
        raise InvalidInput(f"{path}: must be a JSON list of inferences (strings)")
    return texts


def _candidates(path: Path) -> list[int]:
    ids = read_json(path)
    if not isinstance(ids, list) or not all(type(item) is int for item in ids):
        raise InvalidInput(f"{path}: must be a JSON list of whole numbers, the ids left")
    return ids
