"""Create similarity models by their names in options."""

from pathlib import Path

from curation.relevance.interfaces import Similarity
from curation.relevance.names import VECTORS, parse_similarity
from curation.relevance.vectors import VectorSimilarity


def get_similarity(name: str) -> Similarity:
    """Return the similarity model called ``name``: ``vectors``, or ``nli:FOLDER``.

    Raises:
        InvalidInput: the name is not known.
        ModelUnavailable: its weights are not available.
    """
    parsed = parse_similarity(name)
    if parsed.kind == VECTORS:
        return VectorSimilarity()
    from curation.relevance.nli import NliSimilarity  # noqa: PLC0415 - torch, on demand

    return NliSimilarity(Path(parsed.source))
