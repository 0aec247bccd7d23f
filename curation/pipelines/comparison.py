"""Build a comparison round from a project's accepted pairs.

Plausibility is the cosine of an image with its region marked and an inference; diversity and soft
de-duplication use sentence vectors. Source: paper 001 E. doi:10.1007/978-3-031-20059-5_32
"""

from collections import defaultdict
from collections.abc import Sequence
from dataclasses import asdict
from importlib.metadata import PackageNotFoundError, version
from typing import Any

import numpy as np
from django.contrib.auth.models import AbstractBaseUser
from numpy.typing import NDArray

from curation.dedup.hierarchical import Linkage
from curation.models import ComparisonRound, Subject
from curation.negatives.comparison_sets import (
    ComparisonSetOptions,
    ComparisonSetResult,
    build_comparison_sets,
)
from curation.negatives.filters import keep_soft
from curation.negatives.greedy import Diversity
from curation.negatives.plausibility import EmbeddingPlausibility
from curation.pipelines.encoders import Encoders, encoders
from curation.pipelines.vectors import Maker, Steps, open_image, vectors_of
from curation.records import InvalidInput
from curation.services.comparison import BuiltRound, BuiltSet, RoundOptions, store_round
from curation.versions.splits import split_of
from hits.domain.hashing import content_sha256
from hits.models import Observation, Project
from hits.selectors import observations as collected
from hits.services.errors import Refused
from hits.services.jobs import Progress


def build_comparison_round(
    *,
    project: Project,
    options: RoundOptions,
    by: AbstractBaseUser | None = None,
    encoder: str = "",
    progress: Progress | None = None,
    using: Encoders | None = None,
) -> ComparisonRound:
    """Return a stored round with its sets, skip reasons and provenance.

    Args:
        encoder: name of the image+text encoder; empty is the default. using: encoders that are at hand.

    Raises:
        Refused: no accepted pairs, a missing file, or options that do not fit.
    """
    pairs = _pairs(project, options)
    made = using or encoders(encoder)
    steps = Steps(3 * len(pairs), progress)
    regions = _region_vectors(project, pairs, made, steps)
    texts = [pair.inference for pair in pairs]
    matching = _text_vectors(
        project, texts, Maker(made.name, made.revision, Subject.TEXTS), made.texts, steps
    )
    sentences = _text_vectors(
        project,
        texts,
        Maker(made.sentence_name, made.sentence_revision, Subject.TEXTS),
        made.sentences,
        steps,
    )
    try:
        kept = keep_soft(
            sentences,
            share=options.soft_share,
            linkage=Linkage(options.linkage),
            generator=np.random.default_rng(options.seed),
        )
        result = build_comparison_sets(
            EmbeddingPlausibility(regions, matching),
            texts,
            sentences,
            kept=kept.tolist(),
            options=ComparisonSetOptions(
                size=options.size,
                min_candidates=options.min_candidates,
                max_verbatim=options.max_verbatim,
                diversity=Diversity(options.diversity),
                weight=options.weight,
                promise_weight=options.promise_weight,
            ),
        )
    except InvalidInput as error:
        raise Refused(str(error)) from error
    built = _built(pairs, result, made, options, len(kept))
    return store_round(project=project, options=options, built=built, by=by)


def _pairs(project: Project, options: RoundOptions) -> list[Observation]:
    pairs = list(collected.accepted(project))
    if options.split:
        pairs = [pair for pair in pairs if split_of(pair.image.split) == split_of(options.split)]
    if not pairs:
        where = f" in the split {options.split}" if options.split else ""
        raise Refused(f"observations: none is approved{where} yet; approve submissions first")
    return pairs


def _region_vectors(
    project: Project, pairs: Sequence[Observation], made: Encoders, steps: Steps
) -> NDArray[np.float32]:
    return vectors_of(
        project=project,
        maker=Maker(made.name, made.revision, Subject.REGIONS),
        items=pairs,
        fingerprints=[content_sha256([pair.image.sha256, pair.boxes]) for pair in pairs],
        encode=lambda few: made.regions([(open_image(pair.image), pair.boxes) for pair in few]),
        step=steps,
    )


def _text_vectors(
    project: Project, texts: Sequence[str], maker: Maker, encode: Any, steps: Steps
) -> NDArray[np.float32]:
    return vectors_of(
        project=project, maker=maker, items=texts, fingerprints=texts, encode=encode, step=steps
    )


def _built(
    pairs: Sequence[Observation],
    result: ComparisonSetResult,
    made: Encoders,
    options: RoundOptions,
    kept: int,
) -> BuiltRound:
    sets = [
        BuiltSet(
            gold=pairs[item.instance].pk,
            chosen=[pairs[index].instance_id for index in item.chosen],
            rank=item.rank,
            scores={
                "available": draft.available,
                "objectives": [round(value, 6) for value in draft.objectives],
                "promise": {name: round(value, 6) for name, value in asdict(draft.promise).items()},
            },
        )
        for item, draft in zip(result.sets, result.drafts, strict=True)
    ]
    skipped: dict[str, list[dict[str, Any]]] = defaultdict(list)
    for row in result.skipped:
        skipped[row.reason.value].append(
            {"instance": pairs[row.instance].instance_id, "available": row.available}
        )
    return BuiltRound(
        encoder=made.name,
        provenance=_provenance(made, options, pairs, kept),
        instances=len(pairs),
        inferences=len(pairs),
        sets=sets,
        skipped=dict(skipped),
    )


def _provenance(
    made: Encoders, options: RoundOptions, pairs: Sequence[Observation], kept: int
) -> dict[str, Any]:
    return {
        "plausibility_encoder": made.name,
        "plausibility_revision": made.revision,
        "sentence_encoder": made.sentence_name,
        "sentence_revision": made.sentence_revision,
        "min_candidates": options.min_candidates,
        "seed": options.seed,
        "pairs_sha256": content_sha256([pair.instance_id for pair in pairs]),
        "left_by_soft_deduplication": kept,
        "numpy": np.__version__,
        "scipy": _version("scipy"),
        "torch": _version("torch"),
        "sentence_transformers": _version("sentence-transformers"),
    }


def _version(package: str) -> str:
    try:
        return version(package)
    except PackageNotFoundError:
        return ""
