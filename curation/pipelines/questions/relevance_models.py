"""The relevance model of each fold and stage: fitted on the triplets of all other folds (Zellers et al. 2019 §4)."""

from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass
from functools import lru_cache
from pathlib import Path
from typing import Any

import numpy as np

from curation.features.weights import folder_revision, folder_sha256
from curation.models import Stage
from curation.pipelines.questions.folder import SetFolder
from curation.pipelines.questions.triplets import TEXTS_OF_STAGE
from curation.pipelines.questions.vectors import StoredVectors
from curation.records import InvalidInput
from curation.relevance.cross import CrossRelevance, find_base_model
from curation.relevance.factory import get_similarity
from curation.relevance.interfaces import Relevance, Similarity, Texts
from curation.relevance.names import VECTORS, parse_relevance
from curation.relevance.vectors import VectorRelevance, fit_vector_relevance
from curation.services.questions import QuestionSetOptions
from hits.domain.hashing import content_sha256

MAX_FITTED = 20_000  # triplets of the other folds on which three coefficients are fitted


@dataclass(frozen=True, slots=True)
class SetTexts:
    """The class texts of all triplets of a set by text name, each in the order of the triplets' ids."""

    texts: Mapping[str, Sequence[str]]
    vectors: Mapping[str, StoredVectors]

    def rows(self, text: str, rows: Sequence[int], *, with_vectors: bool) -> Texts:
        """Return some texts, with their sentence vectors if wanted."""
        chosen = [self.texts[text][row] for row in rows]
        if not with_vectors:
            return Texts(chosen)
        return Texts(chosen, self.vectors[text].open().take(np.asarray(rows, dtype=np.int64)))


def fit_vectors(texts: SetTexts, stage: Stage, other_rows: Sequence[int], seed: int) -> VectorRelevance:
    """Fit the model of vectors on the triplets ``other_rows``, or on 20,000 of them.

    Raises:
        InvalidInput: there are too few.
    """
    if len(other_rows) > MAX_FITTED:
        drawn = np.random.default_rng(seed).choice(len(other_rows), size=MAX_FITTED, replace=False)
        other_rows = [other_rows[index] for index in np.sort(drawn)]
    query, response = TEXTS_OF_STAGE[stage]
    return fit_vector_relevance(
        texts.rows(query, other_rows, with_vectors=True),
        texts.rows(response, other_rows, with_vectors=True),
        seed,
    )


@lru_cache(maxsize=4)
def base_model_sha256(source: str) -> str:
    """Return the hash of the model that cross-encoders start from.

    Raises:
        ModelUnavailable: it is missing.
    """
    return folder_sha256(find_base_model(source))


def cross_model_key(
    options: QuestionSetOptions, stage: Stage, other_texts: Mapping[str, Sequence[str]]
) -> str:
    """Return the hash of all that a fine-tuned model depends on; it names the model's folder."""
    return content_sha256(
        {
            "base": base_model_sha256(parse_relevance(options.relevance).source),
            "settings": fine_tuning_settings(options),
            "stage": stage.value,
            "texts": content_sha256({name: list(texts) for name, texts in other_texts.items()}),
        }
    )


def fine_tuning_settings(options: QuestionSetOptions) -> dict[str, Any]:
    """Return the settings of fine-tuning as plain JSON."""
    return {
        "learning_rate": options.learning_rate,
        "batch_size": options.batch_size,
        "epochs": options.epochs,
        "examples": options.examples or None,
        "seed": options.seed,
    }


def fine_tune_model(
    folder: SetFolder,
    key: str,
    options: QuestionSetOptions,
    texts: Mapping[str, Sequence[str]],
    stage: Stage,
    report: Callable[[int, int], None],
) -> None:
    """Fine-tune the model called ``key``; one that exists is left as it is.

    Args:
        texts: the query and response texts of the other folds, by text name.
    """
    from curation.relevance.cross_training import FineTuning, fine_tune  # torch

    query, response = TEXTS_OF_STAGE[stage]
    fine_tune(
        find_base_model(parse_relevance(options.relevance).source),
        folder.model(key),
        texts[query],
        texts[response],
        FineTuning(**fine_tuning_settings(options)),
        report,
    )


def relevance_as_json(vectors: VectorRelevance, model_key: str = "") -> dict[str, Any]:
    """Return what a bucket's inputs have about its relevance model.

    Args:
        vectors: the model of sentence vectors, which also chooses the pairs that a cross-encoder scores.
        model_key: names the folder of a cross-encoder, if one is used.
    """
    facts: dict[str, Any] = {"kind": VECTORS, "coefficients": list(vectors.coefficients)}
    return facts | {"kind": "cross", "model": model_key} if model_key else facts


def load_proxy(facts: Mapping[str, Any]) -> VectorRelevance:
    """Return the model of sentence vectors of ``relevance_as_json``."""
    return VectorRelevance(tuple(facts["coefficients"]))


@lru_cache(maxsize=2)
def _load_cross(path: Path, source: str) -> CrossRelevance:
    return CrossRelevance(path, source)


def load_relevance(folder: SetFolder, facts: Mapping[str, Any], options: QuestionSetOptions) -> Relevance:
    """Return the model of ``relevance_as_json``.

    Raises:
        ModelUnavailable: its folder is missing.
    """
    if facts["kind"] == VECTORS:
        return load_proxy(facts)
    source = Path(parse_relevance(options.relevance).source).name
    return _load_cross(folder.model(facts["model"]), source)


def relevance_revision(folder: SetFolder, facts: Mapping[str, Any]) -> str:
    """Return the revision of the model of ``relevance_as_json``, without loading it."""
    if facts["kind"] == VECTORS:
        return load_proxy(facts).revision
    return folder_revision(folder.model(facts["model"]))


@lru_cache(maxsize=1)
def load_similarity(name: str) -> Similarity:
    """Return the similarity model called ``name``; the last one stays loaded for the next bucket.

    Raises:
        ModelUnavailable: its weights are missing.
    """
    return get_similarity(name)


def similarity_as_json(similarity: Similarity) -> dict[str, str]:
    """Return what a bucket's inputs have about its similarity model."""
    return {"name": similarity.name, "revision": similarity.revision}


def checked_similarity(name: str, begun: Mapping[str, str]) -> Similarity:
    """Return the similarity model called ``name``.

    Args:
        begun: ``similarity_as_json`` of the model with which the set was begun.

    Raises:
        InvalidInput: the model is another one here.
        ModelUnavailable: its weights are missing.
    """
    if similarity_as_json(load_similarity(name)) != begun:
        load_similarity.cache_clear()  # a folder's weights may have changed since they were loaded
    similarity = load_similarity(name)
    if similarity_as_json(similarity) != begun:
        raise InvalidInput(
            f"similarity: {similarity.name} is {similarity.revision} here, but the set was begun with "
            f"{begun['revision']}; build a new set"
        )
    return similarity
