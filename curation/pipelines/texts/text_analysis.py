"""Analyse a project's approved texts. Equal pairs, options and models give equal results.

Results contain keys of pairs and never their texts, so that an old analysis shows nothing that was taken down.
"""

from collections.abc import Sequence
from typing import Any

import numpy as np
from django.contrib.auth.models import AbstractBaseUser
from numpy.typing import NDArray

from curation.dedup.cuts import ByDistance, ByNumber, Linkage
from curation.dedup.groups import find_least_similar
from curation.dedup.hierarchical import cluster
from curation.dedup.members import keep_random
from curation.models import AnalysisKind, TextAnalysis
from curation.negatives.filters import cap_verbatim
from curation.pipelines.matmul_backends import choose_matmul_backend
from curation.pipelines.texts.texts_captions import compare_captions
from curation.pipelines.texts.texts_common import (
    SentenceVectorMaker,
    TextEncoder,
    make_provenance,
    sentence_encoder,
)
from curation.pipelines.texts.texts_toxicity import score_toxicity
from curation.pipelines.texts.topics import find_topics
from curation.selectors.texts import TextPair, text_pairs
from curation.services.refusals import refuse_invalid_input
from curation.services.texts import (
    OPTION_TYPES,
    AnalysisOptions,
    AnalysisResult,
    CaptionOptions,
    DuplicateOptions,
    TopicOptions,
    ToxicityOptions,
    store_analysis,
)
from curation.texts.groups import count_copies, count_group_sizes, largest_groups
from hits.models import Project
from hits.services.errors import Refused
from hits.services.jobs.jobs import Progress

MAX_LISTED = 200  # copies and groups that a result lists
MAX_MEMBERS_LISTED = 20


def parse_options(kind: str, given: dict[str, Any]) -> AnalysisOptions:
    """Return a job's options."""
    return OPTION_TYPES[AnalysisKind(kind)](**given)


def analyse_texts(
    *,
    project: Project,
    options: AnalysisOptions,
    by: AbstractBaseUser | None = None,
    progress: Progress | None = None,
    encoder: TextEncoder | None = None,
) -> TextAnalysis:
    """Run and store an analysis of the approved pairs; the options determine its kind.

    Args:
        progress: of the job, if any; scoring resumes where an earlier run of the job stopped.
        encoder: makes sentence vectors; by default all-MiniLM-L6-v2.

    Raises:
        Refused: no pairs, options that do not fit, or a model that is not available.
    """
    pairs = text_pairs(project, options.split)
    if not pairs:
        raise Refused("pairs: no pair is approved yet; approve submissions first")
    with refuse_invalid_input():
        if isinstance(options, ToxicityOptions):
            return score_toxicity(project=project, pairs=pairs, options=options, by=by, progress=progress)
        found = _analyse(project, pairs, options, progress, encoder)
    return store_analysis(project=project, options=options, result=found, by=by)


def _analyse(
    project: Project,
    pairs: Sequence[TextPair],
    options: TopicOptions | DuplicateOptions | CaptionOptions,
    progress: Progress | None,
    encoder: TextEncoder | None,
) -> AnalysisResult:
    if isinstance(options, TopicOptions):
        return find_topics(pairs, options, progress)
    vector_maker = SentenceVectorMaker(project, encoder or sentence_encoder(), progress)
    if isinstance(options, DuplicateOptions):
        return find_duplicates(pairs, options, vector_maker)
    return compare_captions(pairs, options, vector_maker)


def find_duplicates(
    pairs: Sequence[TextPair], options: DuplicateOptions, vector_maker: SentenceVectorMaker
) -> AnalysisResult:
    """Count copies and near-copies among the clues or the inferences; nothing is dropped.

    The clusters are those of ``curation.negatives.filters.soft_deduplicate_texts``: equal options keep equal texts.
    """
    texts = [str(getattr(pair, options.field)) for pair in pairs]
    copies = count_copies(texts, max_listed=MAX_LISTED)
    encoded_texts = vector_maker.encode(texts, ids=[pair.instance_id for pair in pairs], stages=2)
    vectors = encoded_texts.rows[encoded_texts.row_indices]
    cut = ByNumber(max(1, round(options.share * len(texts))))
    labels = cluster(
        vectors,
        cut if options.distance is None else ByDistance(options.distance),
        linkage=Linkage(options.linkage),
        backend=choose_matmul_backend(),
        progress=vector_maker.second_stage_progress(len(encoded_texts.rows)),
    ).labels
    kept_rows = keep_random(labels, np.random.default_rng(options.seed))
    groups = largest_groups(labels, kept_rows, max_listed=MAX_LISTED)
    result = {
        "texts": len(texts),
        "distinct": copies.distinct,
        "repeated": copies.repeated,
        "copies": [[pairs[copy.first].pk, copy.count] for copy in copies.most_frequent],
        "beyond_cap": len(texts) - len(cap_verbatim(range(len(texts)), texts, options.cap)),
        "kept_soft": len(kept_rows),
        "dropped_soft": len(texts) - len(kept_rows),
        "kept_both": len(cap_verbatim(kept_rows.tolist(), texts, options.cap)),
        "sizes": [[size, count] for size, count in sorted(count_group_sizes(labels).items())],
        "groups": [
            {
                "kept": pairs[group.kept].pk,
                "size": len(group.members),
                "members": [pairs[index].pk for index in group.members[:MAX_MEMBERS_LISTED]],
                **_describe_least_similar(pairs, vectors, group.members),
            }
            for group in groups
        ],
    }
    return AnalysisResult(result, make_provenance(pairs, **vector_maker.provenance), len(pairs))


def _describe_least_similar(
    pairs: Sequence[TextPair], vectors: NDArray[np.floating], members: Sequence[int]
) -> dict[str, Any]:
    """Return the least similar texts of a group and their cosine: they may differ, if merged to reach the share."""
    pair = find_least_similar(vectors[list(members)])
    members_of_pair = [pairs[members[index]].pk for index in (pair.first, pair.second)]
    return {"pair": members_of_pair, "cosine": round(pair.cosine, 4)}
