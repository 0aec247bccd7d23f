"""Analyse a project's approved texts. Equal pairs, options and models give equal results.

Results hold keys of pairs and never their texts, so that an old analysis shows nothing that was taken down.
"""

from collections.abc import Sequence
from typing import Any

import numpy as np
from django.contrib.auth.models import AbstractBaseUser
from numpy.typing import NDArray

from curation.dedup.cuts import ByDistance, ByNumber, Linkage
from curation.dedup.groups import least_alike
from curation.dedup.hierarchical import cluster
from curation.dedup.members import keep_random
from curation.features.encoder import EncoderUnavailable
from curation.models import AnalysisKind, TextAnalysis
from curation.negatives.filters import cap_verbatim
from curation.pipelines.matmul_backends import best_product
from curation.pipelines.texts.texts_captions import compare_captions
from curation.pipelines.texts.texts_common import Sentences, SentenceTexts, origin, sentence_encoder
from curation.pipelines.texts.texts_toxicity import score_toxicity
from curation.pipelines.texts.topics import find_topics
from curation.records import InvalidInput
from curation.selectors.texts import TextPair, text_pairs
from curation.services.texts import (
    OPTIONS,
    CaptionOptions,
    DuplicateOptions,
    Found,
    Options,
    TopicOptions,
    ToxicityOptions,
    store_analysis,
)
from curation.texts.groups import count_copies, largest_groups, size_counts
from hits.models import Project
from hits.services.errors import Refused
from hits.services.jobs.jobs import Progress

LISTED = 200  # copies and groups that a result lists
MEMBERS_LISTED = 20


def options_of(kind: str, given: dict[str, Any]) -> Options:
    """Return a job's options."""
    return OPTIONS[AnalysisKind(kind)](**given)


def analyse_texts(
    *,
    project: Project,
    options: Options,
    by: AbstractBaseUser | None = None,
    progress: Progress | None = None,
    encoder: SentenceTexts | None = None,
) -> TextAnalysis:
    """Return a stored analysis of the approved pairs, of the kind that the options are of.

    Args:
        progress: of the job, if it is one; scoring goes on where an earlier run of the job ended.
        encoder: makes sentence vectors; all-MiniLM-L6-v2 when absent.

    Raises:
        Refused: no pairs, options that do not fit, or a model that cannot be had.
    """
    pairs = text_pairs(project, options.split)
    if not pairs:
        raise Refused("pairs: none is approved yet; approve submissions first")
    try:
        if isinstance(options, ToxicityOptions):
            return score_toxicity(project=project, pairs=pairs, options=options, by=by, progress=progress)
        found = _found(project, pairs, options, progress, encoder)
    except (InvalidInput, EncoderUnavailable) as error:
        raise Refused(str(error)) from error
    return store_analysis(project=project, options=options, found=found, by=by)


def _found(
    project: Project,
    pairs: Sequence[TextPair],
    options: TopicOptions | DuplicateOptions | CaptionOptions,
    progress: Progress | None,
    encoder: SentenceTexts | None,
) -> Found:
    if isinstance(options, TopicOptions):
        return find_topics(pairs, options, progress)
    sentences = Sentences(project, encoder or sentence_encoder(), progress)
    if isinstance(options, DuplicateOptions):
        return find_duplicates(pairs, options, sentences)
    return compare_captions(pairs, options, sentences)


def find_duplicates(pairs: Sequence[TextPair], options: DuplicateOptions, sentences: Sentences) -> Found:
    """Count copies and near-copies among the clues or the inferences; nothing is dropped.

    The clusters are those of ``curation.negatives.filters.cluster_softly``: equal options, equal texts stay.
    """
    texts = [str(getattr(pair, options.field)) for pair in pairs]
    copies = count_copies(texts, listed=LISTED)
    encoded = sentences.of(texts, ids=[pair.instance_id for pair in pairs], stages=2)
    vectors = encoded.rows[encoded.places]
    wanted = ByNumber(max(1, round(options.share * len(texts))))
    labels = cluster(
        vectors,
        wanted if options.distance is None else ByDistance(options.distance),
        linkage=Linkage(options.linkage),
        product=best_product(),
        progress=sentences.second_stage(len(encoded.rows)),
    ).labels
    kept = keep_random(labels, np.random.default_rng(options.seed))
    groups = largest_groups(labels, kept, listed=LISTED)
    result = {
        "texts": len(texts),
        "distinct": copies.distinct,
        "repeated": copies.repeated,
        "copies": [[pairs[copy.first].pk, copy.count] for copy in copies.most],
        "beyond_cap": len(texts) - len(cap_verbatim(range(len(texts)), texts, options.cap)),
        "kept_soft": len(kept),
        "dropped_soft": len(texts) - len(kept),
        "kept_both": len(cap_verbatim(kept.tolist(), texts, options.cap)),
        "sizes": [[size, count] for size, count in sorted(size_counts(labels).items())],
        "groups": [
            {
                "kept": pairs[group.kept].pk,
                "size": len(group.members),
                "members": [pairs[index].pk for index in group.members[:MEMBERS_LISTED]],
                **_least_alike(pairs, vectors, group.members),
            }
            for group in groups
        ],
    }
    return Found(result, origin(pairs, **sentences.provenance), len(pairs))


def _least_alike(
    pairs: Sequence[TextPair], vectors: NDArray[np.floating], members: Sequence[int]
) -> dict[str, Any]:
    """The two texts of a group that are least alike, and how alike: a group may be joined to reach a share."""
    pair = least_alike(vectors[list(members)])
    return {
        "pair": [pairs[members[index]].pk for index in (pair.first, pair.second)],
        "cosine": round(pair.cosine, 4),
    }
