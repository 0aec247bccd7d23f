"""Build a comparison round from a project's accepted pairs.

Plausibility is the cosine of an image with its region marked and an inference; diversity and soft
de-duplication use sentence vectors. Source: paper 001 E. doi:10.1007/978-3-031-20059-5_32
"""

from collections import Counter, defaultdict
from collections.abc import Sequence
from dataclasses import asdict
from typing import Any

import numpy as np
from django.contrib.auth.models import AbstractBaseUser
from numpy.typing import NDArray

from curation.cores import usable_cores
from curation.dedup.cuts import Linkage
from curation.models import ComparisonRound, Pair, Scorer, Subject
from curation.negatives.comparison_sets import (
    ComparisonSetResult,
    DraftSet,
    Funnel,
    build_comparison_sets,
)
from curation.negatives.filters import SoftClusters, cluster_softly
from curation.negatives.options import Keep, Work
from curation.negatives.plausibility import EmbeddingPlausibility
from curation.negatives.promise import PromiseRanking
from curation.pipelines.encoders import Encoders, encoders, is_parallel, preprocessing_of, region_mode_of
from curation.pipelines.matmul_backends import best_product
from curation.pipelines.score_matmul_backends import best_score_product
from curation.pipelines.texts.texts_common import installed
from curation.pipelines.vectors import Maker, Steps, open_image, vectors_of
from curation.records import InvalidInput
from curation.selectors import pairs as collected
from curation.selectors.scorers import known_pairs, scorer_of
from curation.services.comparison import BuiltRound, BuiltSet, RoundOptions, store_round
from curation.services.scorers import as_provenance, known_pairs_words
from curation.versions.choices import Choices
from curation.versions.selection import Selection
from curation.versions.splits import split_of
from hits.domain.hashing import content_sha256
from hits.models import Job, Project
from hits.services.errors import Refused
from hits.services.jobs.jobs import Progress

STAGES = 4  # vectors of regions, of texts for them, of sentences, and the sets
ORDER_STREAM = 1  # the random order must not follow the draw of who stays
DROPPED_NAMED = 3


def build_comparison_round(
    *,
    project: Project,
    options: RoundOptions,
    by: AbstractBaseUser | None = None,
    encoder: str = "",
    progress: Progress | None = None,
    using: Encoders | None = None,
    job: Job | None = None,
) -> ComparisonRound:
    """Return a stored round with its sets, skip reasons and provenance.

    Args:
        encoder: name of the image+text encoder; empty is the default, ``scorer:<number>`` a scorer of the project.
        using: encoders that are at hand.
        job: the one that asks; the round keeps it.

    Raises:
        Refused: no accepted pairs, a missing file, or options that do not fit.
    """
    pairs = _pairs(project, options)
    scorer = scorer_of(encoder)
    _warn(scorer, options, progress)
    made = using or encoders(encoder)
    steps = Steps(STAGES * len(pairs), progress)
    regions = _region_vectors(project, pairs, made, steps)
    matching = _text_vectors(
        project,
        pairs,
        Maker(made.name, made.revision, Subject.TEXTS, preprocessing=preprocessing_of(made)),
        made.texts,
        steps,
    )
    sentences = _text_vectors(
        project,
        pairs,
        Maker(
            made.sentence_name,
            made.sentence_revision,
            Subject.TEXTS,
            preprocessing=made.sentence_preprocessing,
        ),
        made.sentences,
        steps,
    )
    try:
        plausibility = EmbeddingPlausibility(regions, matching, best_score_product())
        soft, result = _chosen(pairs, options, sentences, plausibility, steps)
    except InvalidInput as error:
        raise Refused(str(error)) from error
    built = _built(pairs, soft, result, made, options)
    built.provenance.update(_of_scorer(scorer, options))
    return store_round(project=project, options=options, built=built, by=by, job=job, scorer=scorer)


def _warn(scorer: Scorer | None, options: RoundOptions, progress: Progress | None) -> None:
    words = known_pairs_words(scorer, options.split) if scorer is not None else ""
    if words and progress is not None:
        progress.log(words)


def _of_scorer(scorer: Scorer | None, options: RoundOptions) -> dict[str, Any]:
    """What the round's provenance says of our own model, if it judged plausibility."""
    if scorer is None:
        return {}
    return as_provenance(scorer) | {"pairs_that_scorer_knows": known_pairs(scorer, options.split)[0]}


def _chosen(
    pairs: Sequence[Pair],
    options: RoundOptions,
    sentences: NDArray[np.float32],
    plausibility: EmbeddingPlausibility,
    steps: Steps,
) -> tuple[SoftClusters, ComparisonSetResult]:
    """De-duplicate the texts softly, then build the sets; the job hears of the second as of one more stage."""
    soft = cluster_softly(
        sentences,
        share=options.soft_share,
        linkage=Linkage(options.linkage),
        keep=Keep(options.keep),
        generator=np.random.default_rng(options.seed),
        product=best_product(),
        progress=lambda done, total: steps(0),
    )
    told = 0

    def tell(done: int, total: int) -> None:
        nonlocal told
        now = len(pairs) * done // total
        steps(now - told)
        told = now

    result = build_comparison_sets(
        plausibility,
        [pair.inference for pair in pairs],
        sentences,
        kept=soft.kept.tolist(),
        image_ids=[pair.image_id for pair in pairs],
        options=options.rules(),
        generator=np.random.default_rng([options.seed, ORDER_STREAM]),
        work=Work(threads=usable_cores(), progress=tell),
    )
    return soft, result


def _pairs(project: Project, options: RoundOptions) -> list[Pair]:
    selection = Selection.from_json(options.selection)
    choices = Choices(project, Pair.TYPE, selection, record_types=(Pair.TYPE,))
    pairs = [pair for pair in collected.accepted(project) if choices.why_not(pair) is None]
    if not pairs and not selection.is_everything:
        raise Refused("observations: no approved pair is left by what was selected; select more")
    if options.split:
        pairs = [pair for pair in pairs if split_of(pair.image.split) == split_of(options.split)]
    if not pairs:
        where = f" in the split {options.split}" if options.split else ""
        raise Refused(f"observations: none is approved{where} yet; approve submissions first")
    return pairs


def _region_vectors(
    project: Project, pairs: Sequence[Pair], made: Encoders, steps: Steps
) -> NDArray[np.float32]:
    return vectors_of(
        project=project,
        maker=Maker(
            made.name,
            made.revision,
            Subject.REGIONS,
            region_mode=region_mode_of(made).value,
            preprocessing=preprocessing_of(made),
        ),
        items=pairs,
        fingerprints=[content_sha256([pair.image.sha256, pair.boxes]) for pair in pairs],
        ids=[pair.instance_id for pair in pairs],
        encode=lambda few: made.regions([(open_image(pair.image), pair.boxes) for pair in few]),
        step=steps,
        parallel=is_parallel(made),
    )


def _text_vectors(
    project: Project, pairs: Sequence[Pair], maker: Maker, encode: Any, steps: Steps
) -> NDArray[np.float32]:
    texts = [pair.inference for pair in pairs]
    return vectors_of(
        project=project,
        maker=maker,
        items=texts,
        fingerprints=texts,
        ids=[pair.instance_id for pair in pairs],
        encode=encode,
        step=steps,
    )


def _built(
    pairs: Sequence[Pair],
    soft: SoftClusters,
    result: ComparisonSetResult,
    made: Encoders,
    options: RoundOptions,
) -> BuiltRound:
    figures = _Figures(pairs, soft, result.ranking)
    sets = [
        BuiltSet(
            gold=pairs[item.instance].pk,
            chosen=[pairs[index].instance_id for index in item.chosen],
            rank=item.rank,
            scores=figures.of(place, draft),
        )
        for place, (item, draft) in enumerate(zip(result.sets, result.drafts, strict=True))
    ]
    skipped: dict[str, list[dict[str, Any]]] = defaultdict(list)
    for row in result.skipped:
        skipped[row.reason.value].append(
            {"instance": pairs[row.instance].instance_id, "available": row.available}
        )
    return BuiltRound(
        encoder=made.name,
        provenance=_provenance(made, options, pairs, result.funnel),
        instances=len(pairs),
        inferences=len(pairs),
        sets=sets,
        skipped=dict(skipped),
    )


class _Figures:
    """The figures of a set's row, see ``BuiltSet``."""

    def __init__(self, pairs: Sequence[Pair], soft: SoftClusters, ranking: PromiseRanking) -> None:
        self._pairs = pairs
        self._copies = Counter(pair.inference for pair in pairs)
        self._sizes = soft.sizes()
        self._dropped = soft.members()
        self._ranking = ranking

    def of(self, place: int, draft: DraftSet) -> dict[str, Any]:
        """The figures of the set that was built in that place."""
        ranks = self._ranking
        return {
            "gold": round(draft.gold, 6),
            "plausibility": _rounded(draft.plausibility),
            "similarity": _rounded(draft.similarity),
            "objectives": _rounded(draft.objectives),
            "copies": [self._copies[self._pairs[index].inference] for index in draft.chosen],
            "cluster": [int(self._sizes[index]) for index in draft.chosen],
            "dropped": [
                [self._pairs[other].instance_id for other in self._dropped.get(index, [])[:DROPPED_NAMED]]
                for index in draft.chosen
            ],
            "eligible": draft.eligible,
            "available": draft.available,
            "promise": {name: round(value, 6) for name, value in asdict(draft.promise).items()},
            "places": {
                "words": float(ranks.words[place]),
                "similarity": float(ranks.similarity[place]),
                "plausibility": float(ranks.plausibility[place]),
                "total": round(float(ranks.total[place]), 6),
            },
        }


def _rounded(values: Sequence[float]) -> list[float]:
    return [round(value, 6) for value in values]


def _provenance(
    made: Encoders, options: RoundOptions, pairs: Sequence[Pair], funnel: Funnel
) -> dict[str, Any]:
    return {
        "plausibility_encoder": made.name,
        "plausibility_revision": made.revision,
        "sentence_encoder": made.sentence_name,
        "sentence_revision": made.sentence_revision,
        "min_candidates": options.min_candidates,
        "seed": options.seed,
        "rules": asdict(options.rules()),
        "pairs_sha256": content_sha256([pair.instance_id for pair in pairs]),
        "left_by_soft_deduplication": funnel.soft,
        "left_by_verbatim_cap": funnel.cap,
        "numpy": np.__version__,
        "scipy": installed("scipy"),
        "numba": installed("numba"),
        "torch": installed("torch"),
        "sentence_transformers": installed("sentence-transformers"),
    }
