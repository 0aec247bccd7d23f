"""Fit topics of clues and of inferences, and count the pairs of each combination.

Latent Dirichlet allocation by online variational Bayes (Hoffman et al. 2010), in small batches of texts, over sparse
word counts. Source of the analysis: Hessel et al. 2022 §3.2 and figure 2.
"""

from collections.abc import Callable, Sequence
from dataclasses import dataclass
from functools import partial
from typing import Any

import numpy as np
import sklearn
from numpy.typing import NDArray
from scipy.sparse import csr_matrix
from sklearn.decomposition import LatentDirichletAllocation
from sklearn.feature_extraction.text import ENGLISH_STOP_WORDS, CountVectorizer

from curation.pipelines.texts.texts_common import make_provenance
from curation.pipelines.vectors import StepCounter
from curation.selectors.texts import TextPair
from curation.services.texts import AnalysisResult, TopicOptions
from curation.texts import topics as measures
from curation.texts.words import HEDGE_WORDS, VISIBLE_WORDS, topical_words
from hits.services.errors import Refused
from hits.services.jobs.jobs import Progress

MAX_WORDS = 20_000  # of a vocabulary, the most frequent
TOP_WORDS = 10
EXAMPLES = 3
MAX_EXAMPLE_CELLS = 60  # the largest cells of the flow get example pairs
MAX_BATCH_SIZE = 2_048
MIN_BATCHES_PER_PASS = 20  # so that the fit of a small corpus converges too
PERPLEXITY_TEXTS = 10_000
FUNCTION_WORDS = (ENGLISH_STOP_WORDS - VISIBLE_WORDS) | HEDGE_WORDS
Step = Callable[[int], None]


@dataclass(frozen=True, slots=True)
class WordCounts:
    """Word counts (n, v) of n texts, and the v words."""

    counts: Any
    words: NDArray[np.object_]

    @property
    def has_words(self) -> NDArray[np.bool_]:
        """Whether each text (n,) has a word of the vocabulary."""
        return np.diff(self.counts.indptr) > 0


@dataclass(frozen=True, slots=True)
class FittedTopics:
    """Topics of clues or inferences, the largest first: shares (n, k) in texts, weights (k, v) of words.

    likeliest: (n,), the topic with the largest share of each text.
    """

    counted: WordCounts
    shares: NDArray[np.float64]
    weights: NDArray[np.float64]
    likeliest: NDArray[np.int64]
    perplexity: float


def find_topics(
    pairs: Sequence[TextPair], options: TopicOptions, progress: Progress | None
) -> AnalysisResult:
    """Fit topics of clues and inferences, and describe them.

    Raises:
        Refused: too few texts or words for the number of topics.
        Cancelled: the job was cancelled.
    """
    counted = {
        name: _count_words(name, [str(getattr(pair, name)) for pair in pairs], options)
        for name in ("clue", "inference")
    }
    steps = StepCounter(2 * options.passes * len(pairs), progress)
    clues = _fit_topics(counted["clue"], options, steps)
    inferences = _fit_topics(counted["inference"], options, steps)
    flow = measures.topic_flow(clues.likeliest, inferences.likeliest, options.topics, options.topics)
    result = {
        "pairs": len(pairs),
        "clues": _describe_topics(clues),
        "inferences": _describe_topics(inferences),
        "flow": flow.tolist(),
        "times_chance": np.round(measures.lift_over_chance(flow), 3).tolist(),
        "in_flow": int(flow.sum()),
        "examples": _examples(pairs, clues, inferences, flow),
    }
    return AnalysisResult(result, make_provenance(pairs, scikit_learn=sklearn.__version__), len(pairs))


def _count_words(name: str, texts: Sequence[str], options: TopicOptions) -> WordCounts:
    vectorizer = CountVectorizer(
        analyzer=partial(topical_words, function_words=FUNCTION_WORDS),
        min_df=options.least_texts,
        max_features=MAX_WORDS,
        dtype=np.int32,
    )
    try:
        counts = csr_matrix(vectorizer.fit_transform(texts))
    except ValueError as error:  # scikit-learn: the vocabulary is empty
        raise Refused(
            f"{name}: no word is in at least {options.least_texts} of {len(texts)} texts; lower this minimum"
        ) from error
    words = vectorizer.get_feature_names_out()
    if len(words) < options.topics:
        raise Refused(f"{name}: {len(words)} words are too few for {options.topics} topics; ask for fewer")
    return WordCounts(counts, words)


def _fit_topics(counted: WordCounts, options: TopicOptions, step: Step) -> FittedTopics:
    generator = np.random.default_rng(options.seed)
    known = np.flatnonzero(counted.has_words)
    model = LatentDirichletAllocation(
        n_components=options.topics,
        learning_method="online",
        total_samples=len(known),
        random_state=options.seed,
        n_jobs=1,
    )
    size = min(MAX_BATCH_SIZE, max(1, -(-len(known) // MIN_BATCHES_PER_PASS)))
    without_words = counted.counts.shape[0] - len(known)
    for _ in range(options.passes):
        order = generator.permutation(known)
        for start in range(0, len(order), size):
            batch = order[start : start + size]
            model.partial_fit(counted.counts[batch])
            step(len(batch))
        step(without_words)
    shares = _topic_shares(model, counted)
    likeliest = measures.likeliest_topics(shares, counted.has_words)
    order = measures.topics_by_size(likeliest, options.topics)
    new_numbers = np.append(
        np.argsort(order), measures.NO_TOPIC
    )  # the last number is for texts without a topic
    weights = model.components_ / model.components_.sum(axis=1, keepdims=True)
    sample = generator.permutation(known)[:PERPLEXITY_TEXTS]
    perplexity = float(model.perplexity(counted.counts[np.sort(sample)]))
    return FittedTopics(counted, shares[:, order], weights[order], new_numbers[likeliest], perplexity)


def _topic_shares(model: LatentDirichletAllocation, counted: WordCounts) -> NDArray[np.float64]:
    n = counted.counts.shape[0]
    starts = range(0, n, MAX_BATCH_SIZE)
    blocks = [model.transform(counted.counts[start : start + MAX_BATCH_SIZE]) for start in starts]
    return np.concatenate(blocks)


def _describe_topics(fitted: FittedTopics) -> dict[str, Any]:
    k = len(fitted.weights)
    columns = measures.top_columns(fitted.weights, TOP_WORDS)
    sizes = np.bincount(fitted.likeliest[fitted.likeliest >= 0], minlength=k)
    coherences = [_coherence(fitted.counted, row) for row in columns]
    known = [value for value in coherences if value is not None]
    return {
        "words": len(fitted.counted.words),
        "without_words": int((~fitted.counted.has_words).sum()),
        "perplexity": round(fitted.perplexity, 2),
        "coherence": _rounded(float(np.mean(known)) if known else None),
        "topics": [
            {
                "texts": int(sizes[topic]),
                "share": round(float(sizes[topic] / max(1, sizes.sum())), 6),
                "coherence": _rounded(coherences[topic]),
                "words": [
                    [str(fitted.counted.words[column]), round(float(fitted.weights[topic, column]), 5)]
                    for column in columns[topic]
                ],
            }
            for topic in range(k)
        ],
    }


def _rounded(value: float | None) -> float | None:
    return None if value is None else round(value, 4)


def _coherence(counted: WordCounts, columns: NDArray[np.int64]) -> float | None:
    chosen = (counted.counts[:, columns] > 0).astype(np.int64)
    together = np.asarray((chosen.T @ chosen).todense())
    return measures.coherence(range(len(columns)), together, counted.counts.shape[0])


def _examples(
    pairs: Sequence[TextPair], clues: FittedTopics, inferences: FittedTopics, flow: NDArray[np.int64]
) -> list[dict[str, Any]]:
    """Return example pairs of the largest cells of the flow, by key."""
    largest = np.argsort(-flow, axis=None, kind="stable")[:MAX_EXAMPLE_CELLS]
    cells = [divmod(int(cell), flow.shape[1]) for cell in largest if flow.flat[cell]]
    return [
        {
            "clue": clue,
            "inference": inference,
            "pairs": [
                pairs[row].pk
                for row in measures.clearest_pairs(
                    clues.shares, inferences.shares, (clue, inference), EXAMPLES
                )
            ],
        }
        for clue, inference in cells
    ]
