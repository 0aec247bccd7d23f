"""``manage.py build_comparison_sets``: hard candidates for rating (Hessel et al. 2022, appendix E)."""

from argparse import ArgumentParser
from dataclasses import asdict
from pathlib import Path
from typing import Any

import numpy as np
from numpy.typing import NDArray

from curation.cores import usable_cores
from curation.dedup.cuts import Linkage
from curation.evaluation.inputs import read_json, read_npy
from curation.management.file_messages import convert_input_errors
from curation.management.matmul_backends import add_filter_option, choose_scoring_backend
from curation.management.option_fields import option_fields
from curation.management.rule_options import (
    add_comparison_set_options,
    add_rule_option,
    add_soft_deduplication_options,
)
from curation.negatives.comparison_sets import ComparisonSetResult, DraftSet, build_comparison_sets
from curation.negatives.filters import soft_deduplicate_texts
from curation.negatives.options import RULES, ComparisonSetOptions, ExecutionOptions, KeepRule, SpeedShortcut
from curation.negatives.plausibility import EmbeddingPlausibility, Plausibility, PlausibilityMatrix
from curation.records import InvalidInput
from hits.management.base import DeerstalkerCommand

EMBEDDINGS = ("image_embeddings", "inference_embeddings", "text_embeddings")
FILE_OPTIONS = ("plausibility", *EMBEDDINGS, "candidates", "image_ids")


class Command(DeerstalkerCommand):
    """Build comparison sets from files."""

    help = "Build comparison sets from a plausibility matrix, or from embeddings that give plausibilities."

    def add_arguments(self, parser: ArgumentParser) -> None:
        """Add the options."""
        super().add_arguments(parser)
        add = parser.add_argument
        add("--plausibility", type=Path, help=".npy (instances, inferences), gold inferences on the diagonal")
        add("--image-embeddings", type=Path, help=".npy (instances, d), instead of --plausibility")
        add("--inference-embeddings", type=Path, help=".npy (inferences, d), with --image-embeddings")
        add("--texts", type=Path, required=True, help="JSON list of all inferences")
        add("--text-embeddings", type=Path, required=True, help=".npy (inferences, e) of sentence vectors")
        add("--candidates", type=Path, help="JSON list of the ids that soft de-duplication kept")
        add("--image-ids", type=Path, help="JSON list with the image id of every inference")
        add_comparison_set_options(parser)
        add_rule_option(parser, "shortcut", SpeedShortcut)
        soft = parser.add_argument_group("soft de-duplication, without --candidates")
        keep_help = "which member of a cluster to keep: random with --seed, else the first"
        add_soft_deduplication_options(soft, keep_help=keep_help)
        add("--seed", type=int, help="seed of the random order, and of the draw of kept cluster members")
        add_filter_option(parser)
        memory_help = "maximum memory for scores, in MiB"
        add("--memory-mib", type=int, default=ExecutionOptions().memory_mib, help=memory_help)
        add(
            "--threads",
            type=int,
            default=usable_cores(),
            help="number of scoring threads; default: all cores",
        )
        add("--details", action="store_true", help="add the figures of every set to the JSON")

    def handle(self, *args: Any, **options: Any) -> None:
        """Build the sets and print them."""
        meter = ProgressMeter(self.stderr) if self.stderr.isatty() else None
        try:
            with convert_input_errors(**{name: options[name] for name in FILE_OPTIONS}):
                result = _build(options, meter)
        finally:
            if meter is not None:
                meter.close()
        counts = f"{len(result.sets)} sets, {len(result.skipped)} instances skipped"
        self.report(options, _summarise(result, details=options["details"]), counts)


class ProgressMeter:
    """Shows progress on one line of the terminal."""

    def __init__(self, out: Any) -> None:
        self._out = out

    def __call__(self, done: int, total: int) -> None:
        """Show the progress."""
        self._out.write(f"\r{done} of {total} instances scored", ending="")
        self._out.flush()

    def close(self) -> None:
        """End the line."""
        self._out.write("")


def _summarise(result: ComparisonSetResult, *, details: bool) -> dict[str, Any]:
    summary: dict[str, Any] = {
        "sets": [asdict(item) for item in result.sets],
        "skipped": [asdict(item) for item in result.skipped],
    }
    if details:
        counts = result.funnel
        summary["funnel"] = {
            "inferences": counts.inferences,
            "soft": counts.after_soft,
            "cap": counts.after_cap,
        }
        summary["details"] = [_details(draft) for draft in result.drafts]
    return summary


def _details(draft: DraftSet) -> dict[str, Any]:
    keys = {"set_score": "promise", "gold_plausibility": "gold"}  # scripts read these keys
    figures = {keys.get(name, name): value for name, value in asdict(draft).items()}
    del figures["chosen"]
    return figures | {"margins": draft.margins}


def _build(options: dict[str, Any], meter: ProgressMeter | None) -> ComparisonSetResult:
    seed = options["seed"]
    if seed is not None and seed < 0:
        raise InvalidInput(f"--seed {seed}: is negative; give 0 or more")
    kinds = RULES | {"shortcut": SpeedShortcut}
    rules = option_fields(ComparisonSetOptions, options)
    rules |= {name: kind(options[name]) for name, kind in kinds.items()}
    work = ExecutionOptions(memory_mib=options["memory_mib"], threads=options["threads"], progress=meter)
    texts: list[str] = _read_list(options["texts"], (str,), "inferences (strings)") or []
    vectors = _read_matrix(options["text_embeddings"])
    return build_comparison_sets(
        _plausibility(options),
        texts,
        vectors,
        candidate_ids=_candidate_ids(vectors, options),
        image_ids=_read_list(options["image_ids"], (str, int), "image ids (strings or whole numbers)"),
        options=ComparisonSetOptions(**rules),
        generator=None if seed is None else np.random.default_rng([seed, 1]),
        execution=work,
    )


def _candidate_ids(vectors: NDArray[np.floating], options: dict[str, Any]) -> list[int]:
    """Return the ids in the file of candidates; without a file, the ids that soft de-duplication keeps."""
    listed = _read_list(options["candidates"], (int,), "whole numbers, the ids of the candidates")
    if listed is not None:
        return listed
    seed = options["seed"]
    keep = options["keep"] or (KeepRule.FIRST if seed is None else KeepRule.RANDOM)
    soft = soft_deduplicate_texts(
        vectors,
        share=options["soft_share"],
        linkage=Linkage(options["linkage"]),
        keep=KeepRule(keep),
        generator=None if seed is None else np.random.default_rng(seed),
    )
    return [int(index) for index in soft.kept]


def _plausibility(options: dict[str, Any]) -> Plausibility:
    images, inferences = options["image_embeddings"], options["inference_embeddings"]
    if options["plausibility"] and (images or inferences):
        raise InvalidInput("--plausibility and embeddings are both given; leave one out")
    if options["plausibility"]:
        return PlausibilityMatrix(_read_matrix(options["plausibility"]))
    if not (images and inferences):
        raise InvalidInput("give --plausibility, or --image-embeddings together with --inference-embeddings")
    rows = _read_matrix(images)
    backend = choose_scoring_backend(options["filter"], len(rows))
    return EmbeddingPlausibility(rows, _read_matrix(inferences), backend)


def _read_matrix(path: Path) -> NDArray[np.floating]:
    array = read_npy(path, memory_map=True)
    if array.ndim != 2 or not np.issubdtype(array.dtype, np.floating):  # noqa: PLR2004 - rows and columns
        raise InvalidInput(f"{path}: is {array.dtype} of shape {array.shape}; save float rows and columns")
    return array


def _read_list(path: Path | None, types: tuple[type, ...], items: str) -> list[Any] | None:
    """Return a JSON list whose items have exactly these types; ``None`` without a file."""
    if path is None:
        return None
    found = read_json(path)
    if not isinstance(found, list) or not all(type(item) in types for item in found):
        raise InvalidInput(f"{path}: must be a JSON list of {items}")
    return found
