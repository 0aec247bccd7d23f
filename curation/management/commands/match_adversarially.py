"""``manage.py match_adversarially``: wrong choices by Adversarial Matching, from files (Zellers et al. 2019 §4)."""

import json
import time
from argparse import ArgumentParser
from collections import Counter
from pathlib import Path
from typing import Any

import numpy as np
from numpy.typing import NDArray

from curation.evaluation.inputs import describe_ids, read_json, read_npy
from curation.files import write_text
from curation.management.file_messages import convert_input_errors
from curation.matching.match import BucketMatches, BucketRound, match_buckets
from curation.matching.options import MatchOptions, SameImageRule, ShortlistBy, ShortlistOptions
from curation.matching.weights import check_probabilities, check_similarity, symmetric_similarity
from curation.records import InvalidInput
from hits.domain.tagged_text import copy_key
from hits.management.base import DeerstalkerCommand
from hits.management.memory import peak_mib

FILE_OPTIONS = ("relevance", "similarity", "nli", "ids", "texts", "images", "buckets")


class Command(DeerstalkerCommand):
    """Match from files."""

    help = "Choose three wrong responses for every query from matrices of relevance and similarity."

    def add_arguments(self, parser: ArgumentParser) -> None:
        """Add the options."""
        super().add_arguments(parser)
        add = parser.add_argument
        add("--relevance", type=Path, required=True, help=".npy (n, n): P_rel of each query and response")
        similarity = parser.add_mutually_exclusive_group(required=True)
        similarity.add_argument("--nli", type=Path, help=".npy (n, n): entailment probabilities in one order")
        similarity.add_argument("--similarity", type=Path, help=".npy (n, n): P_sim, symmetric, diagonal 1")
        add("--lambda", dest="weight", type=float, required=True, help="weight of ln(1 - P_sim)")
        add("--rounds", type=int, default=MatchOptions().rounds, help="wrong choices of each query")
        add(
            "--texts", type=Path, help="JSON list of the n responses; copies are never choices of one another"
        )
        add("--images", type=Path, help="JSON list of the n image ids")
        add(
            "--same-image",
            choices=[rule.value for rule in SameImageRule],
            default=SameImageRule.ALLOWED.value,
            help="whether responses to the query's own image are wrong choices; forbidden needs --images",
        )
        add("--buckets", type=Path, help="JSON list of the n names of buckets; nothing crosses a bucket")
        add(
            "--ids",
            type=Path,
            help="JSON list of n distinct ids, which decide ties; default: the row numbers",
        )
        add("--shortlist", type=int, metavar="K", help="consider the K best pairs of the first round alone")
        add(
            "--shortlist-by",
            choices=[rule.value for rule in ShortlistBy],
            default=ShortlistBy.BOTH.value,
            help="the K best responses of each query, or also the K best queries of each response",
        )
        add("--no-widen", action="store_true", help="do not double K where no complete matching exists")
        add("--out", type=Path, help="also write rounds and choices to this JSON file")

    def handle(self, *args: Any, **options: Any) -> None:
        """Match and print the choices. An infeasible round is a result, not an error."""
        with convert_input_errors(**{name: options[name] for name in FILE_OPTIONS}):
            started = time.perf_counter()
            matches = _match(options)
            seconds = time.perf_counter() - started
            facts = _summarise(matches)
            if options["out"] is not None:
                write_text(options["out"], [json.dumps(facts, allow_nan=False), "\n"])
        facts |= {"seconds": round(seconds, 3), "peak_mib": round(peak_mib(), 1)}
        self.report(options, facts, *_describe(matches))


def _match(options: dict[str, Any]) -> BucketMatches:
    settings = _settings(options)
    relevance = read_npy(options["relevance"])
    check_probabilities("relevance", relevance)
    n = len(relevance)
    similarity = _read_similarity(options, n)
    ids = _read_ids(options["ids"], n)
    texts = _read_list(options["texts"], "texts", n, (str,))
    return match_buckets(
        relevance,
        similarity,
        settings,
        ids=ids,
        buckets=_read_list(options["buckets"], "buckets", n, (str,)),
        texts=None if texts is None else [copy_key([text], ()) for text in texts],
        images=_read_list(options["images"], "images", n, (str, int)),
    )


def _settings(options: dict[str, Any]) -> MatchOptions:
    same_image = SameImageRule(options["same_image"])
    if same_image is SameImageRule.FORBIDDEN and options["images"] is None:
        raise InvalidInput("--same-image forbidden needs the image of every response; give --images")
    k = options["shortlist"]
    by, widen = ShortlistBy(options["shortlist_by"]), not options["no_widen"]
    return MatchOptions(
        similarity_weight=options["weight"],
        rounds=options["rounds"],
        same_image=same_image,
        shortlist=None if k is None else ShortlistOptions(k, by, widen),
    )


def _read_similarity(options: dict[str, Any], n: int) -> NDArray[np.floating]:
    name = "nli" if options["similarity"] is None else "similarity"
    matrix = read_npy(options[name])
    check_probabilities(name, matrix, ignore_diagonal=name == "nli")
    if len(matrix) != n:
        raise InvalidInput(f"{name}: {len(matrix)} rows for {n} of the relevance; give the same responses")
    if name == "nli":
        return symmetric_similarity(matrix)
    check_similarity(matrix)
    return matrix


def _read_ids(path: Path | None, n: int) -> list[str]:
    ids = _read_list(path, "ids", n, (str,))
    if ids is None:
        return [f"{row:0{len(str(n))}d}" for row in range(n)]
    repeated = [item for item, count in Counter(ids).items() if count > 1]
    if repeated:
        raise InvalidInput(f"ids: repeated: {describe_ids(repeated)}; give every row an id of its own")
    return ids


def _read_list(path: Path | None, name: str, n: int, types: tuple[type, ...]) -> list[Any] | None:
    """Return a JSON list of n values of these types; ``None`` without a file."""
    if path is None:
        return None
    found = read_json(path)
    if not isinstance(found, list) or not all(type(item) in types for item in found):
        kinds = "strings" if types == (str,) else "strings or whole numbers"
        raise InvalidInput(f"{name}: must be a JSON list of {kinds}")
    if len(found) != n:
        raise InvalidInput(f"{name}: {len(found)} for {n} rows of the relevance; give one for each")
    return found


def _summarise(matches: BucketMatches) -> dict[str, Any]:
    return {
        "rounds": [_summarise_round(item) for item in matches.rounds],
        "choices": [list(row) for row in matches.choices],
    }


def _summarise_round(item: BucketRound) -> dict[str, Any]:
    outcome = item.outcome
    return {
        "bucket": item.bucket,
        "round": outcome.round,
        "feasible": outcome.feasible,
        "total": outcome.total,
        "gap": outcome.gap,
        "min_reduced_cost": outcome.min_reduced_cost,
        "k": outcome.shortlist,
        "reason": item.reason or None,
    }


def _describe(matches: BucketMatches) -> list[str]:
    lines = []
    for item in matches.rounds:
        result = item.reason if item.reason else f"total {item.outcome.total:.6f}, gap {item.outcome.gap:.1e}"
        # A name from the file may have line breaks, or characters that a terminal obeys.
        bucket = item.bucket if item.bucket.isprintable() else ascii(item.bucket)
        lines.append(f"bucket {bucket}, round {item.outcome.round}: {result}")
    return lines
