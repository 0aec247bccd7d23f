"""The figures and the provenance of a built question set, as its page shows them."""

from collections.abc import Mapping, Sequence
from dataclasses import asdict
from typing import Any

import numpy as np

from curation.features.weights import package_version_or_empty
from curation.models import QuestionSet, Stage
from curation.pipelines.questions.folder import SetFolder, read_json
from curation.pipelines.questions.plan import BucketPlan, SetPlan
from curation.pipelines.questions.relevance_models import load_relevance, relevance_revision
from curation.pipelines.questions.vectors import sentence_origin
from curation.relevance.names import similarity_stand_in
from curation.services.questions import QuestionSetOptions
from hits.domain.hashing import content_sha256

Results = Mapping[str, Mapping[str, Any]]
MAX_NAMED = 100  # triplets of each list that are named; all are counted


def set_figures(folder: SetFolder, plan: SetPlan, shares: Sequence[Mapping[str, Any]]) -> dict[str, Any]:
    """Return a set's figures.

    ``folds`` and ``buckets`` are those of the plan, with the rounds of each bucket; ``shares`` has each fold's fitted
    share. ``set_aside`` counts triplets without choices by stage; ``named`` has the first of them with their reasons,
    and the responses whose missing classes became words. ``dense_sample`` compares shortlists with all pairs.
    """
    results = {bucket.sha256: _read_summary(folder, bucket) for bucket in plan.buckets}
    return {
        "triplets": plan.triplets,
        "movies": plan.movies,
        "small": plan.small,
        "folds": [asdict(fold) for fold in plan.folds],
        "buckets": [_bucket_figures(bucket, results[bucket.sha256]) for bucket in plan.buckets],
        "shares": list(shares),
        "set_aside": {stage.value: _count(plan, results, stage, "set_aside") for stage in Stage},
        "words": {stage.value: _count(plan, results, stage, "words") for stage in Stage},
        "named": {stage.value: _named(folder, plan, results, stage) for stage in Stage},
        "dense_sample": _dense_samples(plan, results),
    }


def _read_summary(folder: SetFolder, bucket: BucketPlan) -> dict[str, Any]:
    """Return a bucket's result without the choices, which are most of it."""
    result = read_json(folder.result(bucket.sha256))
    return {name: result.get(name) for name in ("rounds", "words", "set_aside", "attempts", "dense_sample")}


def _bucket_figures(bucket: BucketPlan, result: Mapping[str, Any]) -> dict[str, Any]:
    return asdict(bucket) | {
        "rounds": result["rounds"],
        "worded": len(result["words"]),
        "set_aside": len(result["set_aside"]),
        "attempts": result["attempts"],
    }


def _count(plan: SetPlan, results: Results, stage: Stage, name: str) -> int:
    return sum(len(results[bucket.sha256][name]) for bucket in plan.buckets if bucket.stage == stage)


def _named(folder: SetFolder, plan: SetPlan, results: Results, stage: Stage) -> dict[str, list[list[str]]]:
    """Return the published id and the reason of triplets that were set aside, and of responses that got words."""
    folds = {fold.name: fold for fold in plan.folds}
    found: dict[str, list[list[str]]] = {"set_aside": [], "words": []}
    for bucket in plan.buckets:
        result, fold = results[bucket.sha256], folds[bucket.fold]
        if bucket.stage != stage or not (result["words"] or result["set_aside"]):
            continue
        inputs = read_json(folder.inputs(bucket.sha256))
        ids = [f"{fold.split}-{fold.first + index}" for index in inputs["members"]]
        found["set_aside"] += [[ids[int(index)], reason] for index, reason in result["set_aside"].items()]
        found["words"] += [[ids[index], ", ".join(inputs["needed"][index])] for index in result["words"]]
    return {name: rows[:MAX_NAMED] for name, rows in found.items()}


def _dense_samples(plan: SetPlan, results: Results) -> dict[str, Any]:
    """Return for each stage the comparison of its largest sample bucket, if models scored pairs."""
    found: dict[str, Any] = {}
    for bucket in sorted(plan.buckets, key=lambda item: item.size):
        sample = results[bucket.sha256].get("dense_sample")
        if sample is not None and sample["loss"] is not None:
            found[bucket.stage] = sample | {"fold": bucket.fold, "bucket": bucket.name}
    return found


def provenance_of_set(question_set: QuestionSet, folder: SetFolder, plan: SetPlan) -> dict[str, Any]:
    """Return the names and revisions of a set's models, its folds, and the versions of the libraries.

    The secret is no part of it.
    """
    options = QuestionSetOptions(**question_set.options)
    first = load_relevance(folder, plan.models[0].facts, options)
    origin = sentence_origin()
    return {
        "relevance": {
            "name": first.name,
            "stand_in": first.stand_in,
            "revisions": {
                f"{model.fold}, {model.stage}s": relevance_revision(folder, model.facts)
                for model in plan.models
            },
        },
        "similarity": {
            **read_json(folder.inputs(plan.buckets[0].sha256))["similarity"],
            "stand_in": similarity_stand_in(options.similarity),
        },
        "sentences": {"name": origin.encoder, "revision": origin.revision},
        "folds": {fold.name: fold.triplets for fold in plan.folds},
        "buckets_sha256": content_sha256(sorted(bucket.sha256 for bucket in plan.buckets)),
        "rehearsal": question_set.rehearsal,
        "numpy": np.__version__,
        "numba": package_version_or_empty("numba"),
    }
