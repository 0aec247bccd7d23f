"""Build a comparison round from a project's accepted pairs.

Plausibility is the cosine of an image with its region marked and an inference; diversity and soft de-duplication use
sentence vectors. Source: Hessel et al. 2022, appendix E, doi:10.1007/978-3-031-20059-5_32
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
from curation.features.weights import package_version_or_empty
from curation.models import ComparisonRound, Pair, Scorer, Subject
from curation.negatives.comparison_sets import (
    ComparisonSetResult,
    DraftSet,
    FilterCounts,
    build_comparison_sets,
)
from curation.negatives.filters import SoftClusters, soft_deduplicate_texts
from curation.negatives.options import ExecutionOptions, KeepRule
from curation.negatives.plausibility import EmbeddingPlausibility
from curation.negatives.set_score import SetRanking
from curation.pipelines.encoders import RoundEncoders, get_region_mode, get_round_encoders, is_thread_safe
from curation.pipelines.matmul_backends import choose_matmul_backend
from curation.pipelines.score_matmul_backends import choose_score_backend
from curation.pipelines.vectors import StepCounter, VectorOrigin, encoder_origin, get_or_make_vectors
from curation.selectors.pairs import accepted_pairs
from curation.selectors.scorers import count_known_and_accepted_pairs, scorer_by_encoder
from curation.services.comparison import BuiltRound, BuiltSet, RoundOptions, store_round
from curation.services.image_files import open_image
from curation.services.refusals import refuse_invalid_input
from curation.services.scorers import known_pairs_warning, scorer_provenance
from curation.versions.selection import Selection
from curation.versions.selection_filter import SelectionFilter
from curation.versions.splits import parse_split
from hits.domain.hashing import content_sha256
from hits.models import Job, Project
from hits.services.errors import Refused
from hits.services.jobs.jobs import Progress

STAGES = 4  # region vectors, text vectors in the same space, sentence vectors, comparison sets
ORDER_STREAM = 1  # the random order must be independent of the draw of kept inferences
MAX_DROPPED_NAMED = 3


def build_comparison_round(
    *,
    project: Project,
    options: RoundOptions,
    by: AbstractBaseUser | None = None,
    encoder: str = "",
    progress: Progress | None = None,
    given_encoders: RoundEncoders | None = None,
    job: Job | None = None,
) -> ComparisonRound:
    """Build and store a round with its sets, skip reasons and provenance.

    Args:
        encoder: name of the image+text encoder; empty is the default, ``scorer:<number>`` a scorer of the project.
        given_encoders: encoders that are already loaded.
        job: the job that builds the round; stored with it.

    Raises:
        Refused: no accepted pairs, a missing file, or options that do not fit.
    """
    pairs = _select_pairs(project, options)
    scorer = scorer_by_encoder(encoder)
    _log_warning_if_pairs_known(scorer, options, progress)
    round_encoders = given_encoders or get_round_encoders(encoder)
    steps = StepCounter(STAGES * len(pairs), progress)
    regions = _region_vectors(project, pairs, round_encoders, steps)
    origin = encoder_origin(round_encoders, Subject.TEXTS)
    inferences = _text_vectors(project, pairs, origin, round_encoders.encode_texts, steps)
    sentences = _text_vectors(
        project,
        pairs,
        VectorOrigin(
            round_encoders.sentence_name,
            round_encoders.sentence_revision,
            Subject.TEXTS,
            preprocessing=round_encoders.sentence_preprocessing,
        ),
        round_encoders.encode_sentences,
        steps,
    )
    with refuse_invalid_input():
        plausibility = EmbeddingPlausibility(regions, inferences, choose_score_backend())
        soft, result = _choose_sets(pairs, options, sentences, plausibility, steps)
    built = _make_round(pairs, soft, result, round_encoders, options)
    built.provenance.update(_scorer_provenance(scorer, options))
    return store_round(project=project, options=options, built=built, by=by, job=job, scorer=scorer)


def _log_warning_if_pairs_known(
    scorer: Scorer | None, options: RoundOptions, progress: Progress | None
) -> None:
    message = known_pairs_warning(scorer, options.split) if scorer is not None else ""
    if message and progress is not None:
        progress.log(message)


def _scorer_provenance(scorer: Scorer | None, options: RoundOptions) -> dict[str, Any]:
    """Return the provenance of the scorer that computed plausibility, if any."""
    if scorer is None:
        return {}
    return scorer_provenance(scorer) | {
        "pairs_that_scorer_knows": count_known_and_accepted_pairs(scorer, options.split)[0]
    }


def _choose_sets(
    pairs: Sequence[Pair],
    options: RoundOptions,
    sentences: NDArray[np.float32],
    plausibility: EmbeddingPlausibility,
    steps: StepCounter,
) -> tuple[SoftClusters, ComparisonSetResult]:
    """De-duplicate the texts softly, then build the sets; only building counts as a stage of progress."""
    soft = soft_deduplicate_texts(
        sentences,
        share=options.soft_share,
        linkage=Linkage(options.linkage),
        keep=KeepRule(options.keep),
        generator=np.random.default_rng(options.seed),
        backend=choose_matmul_backend(),
        progress=lambda done, total: steps(0),
    )
    reported = 0

    def report_progress(done: int, total: int) -> None:
        nonlocal reported
        reached = len(pairs) * done // total
        steps(reached - reported)
        reported = reached

    result = build_comparison_sets(
        plausibility,
        [pair.inference for pair in pairs],
        sentences,
        candidate_ids=soft.kept.tolist(),
        image_ids=[pair.image_id for pair in pairs],
        options=options.builder_options(),
        generator=np.random.default_rng([options.seed, ORDER_STREAM]),
        execution=ExecutionOptions(threads=usable_cores(), progress=report_progress),
    )
    return soft, result


def _select_pairs(project: Project, options: RoundOptions) -> list[Pair]:
    selection = Selection.from_json(options.selection)
    choices = SelectionFilter(project, Pair.TYPE, selection, record_types=(Pair.TYPE,))
    pairs = [pair for pair in accepted_pairs(project) if choices.exclusion_reason(pair) is None]
    if not pairs and not selection.is_everything:
        raise Refused("pairs: the selection contains no approved pair; select more")
    if options.split:
        pairs = [pair for pair in pairs if parse_split(pair.image.split) == parse_split(options.split)]
    if not pairs:
        where = f" in the split {options.split}" if options.split else ""
        raise Refused(f"pairs: none is approved{where} yet; approve submissions first")
    return pairs


def _region_vectors(
    project: Project, pairs: Sequence[Pair], round_encoders: RoundEncoders, steps: StepCounter
) -> NDArray[np.float32]:
    return get_or_make_vectors(
        project=project,
        origin=encoder_origin(round_encoders, Subject.REGIONS, get_region_mode(round_encoders).value),
        items=pairs,
        fingerprints=[content_sha256([pair.image.sha256, pair.boxes]) for pair in pairs],
        ids=[pair.instance_id for pair in pairs],
        encode=lambda batch: round_encoders.encode_regions(
            [(open_image(pair.image), pair.boxes) for pair in batch]
        ),
        step=steps,
        parallel=is_thread_safe(round_encoders),
    )


def _text_vectors(
    project: Project, pairs: Sequence[Pair], origin: VectorOrigin, encode: Any, steps: StepCounter
) -> NDArray[np.float32]:
    texts = [pair.inference for pair in pairs]
    return get_or_make_vectors(
        project=project,
        origin=origin,
        items=texts,
        fingerprints=texts,
        ids=[pair.instance_id for pair in pairs],
        encode=encode,
        step=steps,
    )


def _make_round(
    pairs: Sequence[Pair],
    soft: SoftClusters,
    result: ComparisonSetResult,
    round_encoders: RoundEncoders,
    options: RoundOptions,
) -> BuiltRound:
    figures = _SetFigures(pairs, soft, result.ranking)
    sets = [
        BuiltSet(
            gold_pk=pairs[item.instance].pk,
            chosen_instance_ids=[pairs[index].instance_id for index in item.chosen],
            rank=item.rank,
            scores=figures.describe(set_index, draft),
        )
        for set_index, (item, draft) in enumerate(zip(result.sets, result.drafts, strict=True))
    ]
    skipped: dict[str, list[dict[str, Any]]] = defaultdict(list)
    for row in result.skipped:
        instance = pairs[row.instance].instance_id
        skipped[row.reason.value].append({"instance": instance, "available": row.available})
    return BuiltRound(
        encoder=round_encoders.name,
        provenance=_provenance(round_encoders, options, pairs, result.funnel),
        instances=len(pairs),
        inferences=len(pairs),
        sets=sets,
        skipped=dict(skipped),
    )


class _SetFigures:
    """Computes the figures that a set's row stores, see ``BuiltSet``."""

    def __init__(self, pairs: Sequence[Pair], soft: SoftClusters, ranking: SetRanking) -> None:
        self._pairs = pairs
        self._copies = Counter(pair.inference for pair in pairs)
        self._sizes = soft.sizes()
        self._dropped = soft.dropped_by_kept()
        self._ranking = ranking

    def describe(self, set_index: int, draft: DraftSet) -> dict[str, Any]:
        """Return the figures of a set; ``set_index`` is its index in building order."""
        ranks = self._ranking
        return {
            "gold": round(draft.gold_plausibility, 6),
            "plausibility": _rounded(draft.plausibility),
            "similarity": _rounded(draft.similarity),
            "objectives": _rounded(draft.objectives),
            "copies": [self._copies[self._pairs[index].inference] for index in draft.chosen],
            "cluster": [int(self._sizes[index]) for index in draft.chosen],
            "dropped": [
                [self._pairs[other].instance_id for other in self._dropped.get(index, [])[:MAX_DROPPED_NAMED]]
                for index in draft.chosen
            ],
            "eligible": draft.eligible,
            "available": draft.available,
            "promise": {name: round(value, 6) for name, value in asdict(draft.set_score).items()},
            "places": {
                "words": float(ranks.words[set_index]),
                "similarity": float(ranks.similarity[set_index]),
                "plausibility": float(ranks.plausibility[set_index]),
                "total": round(float(ranks.total[set_index]), 6),
            },
        }


def _rounded(values: Sequence[float]) -> list[float]:
    return [round(value, 6) for value in values]


def _provenance(
    round_encoders: RoundEncoders, options: RoundOptions, pairs: Sequence[Pair], funnel: FilterCounts
) -> dict[str, Any]:
    return {
        "plausibility_encoder": round_encoders.name,
        "plausibility_revision": round_encoders.revision,
        "sentence_encoder": round_encoders.sentence_name,
        "sentence_revision": round_encoders.sentence_revision,
        "min_candidates": options.min_candidates,
        "seed": options.seed,
        "rules": asdict(options.builder_options()),
        "pairs_sha256": content_sha256([pair.instance_id for pair in pairs]),
        "left_by_soft_deduplication": funnel.after_soft,
        "left_by_verbatim_cap": funnel.after_cap,
        "numpy": np.__version__,
        "scipy": package_version_or_empty("scipy"),
        "numba": package_version_or_empty("numba"),
        "torch": package_version_or_empty("torch"),
        "sentence_transformers": package_version_or_empty("sentence-transformers"),
    }
