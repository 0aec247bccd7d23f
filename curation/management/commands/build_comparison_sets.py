"""``manage.py build_comparison_sets``: hard candidates for people to rate, by the rules of paper 001 E."""

from argparse import ArgumentParser
from dataclasses import asdict
from pathlib import Path
from typing import Any

import numpy as np
from numpy.typing import NDArray

from curation.cores import usable_cores
from curation.dedup.cuts import Linkage
from curation.evaluation.inputs import read_json, read_npy
from curation.management.naming import name_file
from curation.management.products import add_filter, score_product
from curation.management.set_rules import NUMBERS, RULES, add_rule, add_rules, add_soft_deduplication
from curation.negatives.comparison_sets import ComparisonSetResult, DraftSet, build_comparison_sets
from curation.negatives.filters import cluster_softly
from curation.negatives.options import ComparisonSetOptions, Keep, Shortcut, Work
from curation.negatives.plausibility import EmbeddingPlausibility, Plausibility, PlausibilityMatrix
from curation.records import InvalidInput
from hits.management.base import DeerstalkerCommand, bad_input, emit_json, interrupted

FILES = {
    "plausibility": "plausibility",
    "image embeddings": "image_embeddings",
    "inference embeddings": "inference_embeddings",
    "text embeddings": "text_embeddings",
    "candidates": "candidates",
    "image ids": "image_ids",
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
        parser.add_argument("--image-ids", type=Path, help="JSON list: the image of every inference")
        add_rules(parser)
        add_rule(parser, "shortcut", Shortcut)
        soft = parser.add_argument_group("soft de-duplication, without --candidates")
        add_soft_deduplication(soft, keep_help="who stays of a cluster: random with --seed, else the first")
        parser.add_argument(
            "--seed", type=int, help="of the random order, and of the members kept of clusters"
        )
        add_filter(parser)
        parser.add_argument("--memory-mib", type=int, default=Work().memory_mib, help="for scores, at most")
        parser.add_argument("--threads", type=int, default=usable_cores())
        parser.add_argument("--details", action="store_true", help="add the figures of every set to the JSON")

    def handle(self, *args: Any, **options: Any) -> None:
        """Build and print."""
        shown = Meter(self.stderr) if self.stderr.isatty() else None
        try:
            result = _build(options, shown)
        except InvalidInput as error:
            files = {label: options[flag] for label, flag in FILES.items()}
            raise bad_input(name_file(str(error), files)) from error
        except KeyboardInterrupt as error:
            raise interrupted() from error
        finally:
            if shown is not None:
                shown.close()
        if options["json"]:
            emit_json(self, _summary(result, details=options["details"]))
        else:
            self.stdout.write(f"{len(result.sets)} sets, {len(result.skipped)} instances skipped")


class Meter:
    """How far the work is, on one line of a terminal that is written over."""

    def __init__(self, out: Any) -> None:
        self._out = out

    def __call__(self, done: int, total: int) -> None:
        """Show the share that is done."""
        self._out.write(f"\r{done} of {total} instances scored", ending="")
        self._out.flush()

    def close(self) -> None:
        """End the line."""
        self._out.write("")


def _summary(result: ComparisonSetResult, *, details: bool) -> dict[str, Any]:
    summary: dict[str, Any] = {
        "sets": [asdict(item) for item in result.sets],
        "skipped": [asdict(item) for item in result.skipped],
    }
    if details:
        summary["funnel"] = asdict(result.funnel)
        summary["details"] = [_details(draft) for draft in result.drafts]
    return summary


def _details(draft: DraftSet) -> dict[str, Any]:
    figures = asdict(draft)
    del figures["chosen"]
    return figures | {"margins": draft.margins}


def _build(options: dict[str, Any], shown: Meter | None) -> ComparisonSetResult:
    seed = options["seed"]
    if seed is not None and seed < 0:
        raise InvalidInput(f"--seed {seed}: is negative; give 0 or more")
    rules: dict[str, Any] = {name: options[name] for name in NUMBERS}
    rules |= {name: kind(options[name]) for name, kind in RULES.items()}
    rules["shortcut"] = Shortcut(options["shortcut"])
    work = Work(memory_mib=options["memory_mib"], threads=options["threads"], progress=shown)
    texts = _texts(options["texts"])
    vectors = _matrix(options["text_embeddings"])
    return build_comparison_sets(
        _plausibility(options),
        texts,
        vectors,
        kept=_candidates(options["candidates"]) if options["candidates"] else _kept(vectors, options),
        image_ids=_image_ids(options["image_ids"]) if options["image_ids"] else None,
        options=ComparisonSetOptions(**rules),
        generator=None if seed is None else np.random.default_rng([seed, 1]),
        work=work,
    )


def _kept(vectors: NDArray[np.floating], options: dict[str, Any]) -> list[int]:
    seed = options["seed"]
    keep = Keep(options["keep"]) if options["keep"] else Keep.FIRST if seed is None else Keep.RANDOM
    soft = cluster_softly(
        vectors,
        share=options["soft_share"],
        linkage=Linkage(options["linkage"]),
        keep=keep,
        generator=None if seed is None else np.random.default_rng(seed),
    )
    return [int(index) for index in soft.kept]


def _plausibility(options: dict[str, Any]) -> Plausibility:
    images, inferences = options["image_embeddings"], options["inference_embeddings"]
    if options["plausibility"] and (images or inferences):
        raise InvalidInput("--plausibility and embeddings are both given; leave one out")
    if options["plausibility"]:
        return PlausibilityMatrix(_matrix(options["plausibility"]))
    if not (images and inferences):
        raise InvalidInput("give --plausibility, or --image-embeddings together with --inference-embeddings")
    rows = _matrix(images)
    return EmbeddingPlausibility(rows, _matrix(inferences), score_product(options["filter"], len(rows)))


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


def _image_ids(path: Path) -> list[str | int]:
    ids = read_json(path)
    if not isinstance(ids, list) or not all(type(item) in {str, int} for item in ids):
        raise InvalidInput(f"{path}: must be a JSON list of image ids (strings or whole numbers)")
    return ids
