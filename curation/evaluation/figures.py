"""The figures of an evaluation or a submission as plain JSON: the official measures with their intervals.

    {"retrieval": {"im2txt": F, "txt2im": F, "p_at_1": F, "instances": n, "chunks": k},
     "localization": {"gt_accuracy": F, "gt_images": n, "auto_accuracy": F, "auto_images": n,
                      "auto_oracle_accuracy": F},
     "comparison": {"human": F, "model": F, "random": F, "oracle": F, "images": n}}

F is {"value", "low", "high"}, see ``intervals.Figure``. im2txt and txt2im are mean ranks, all others are percentages.
A task that was not measured is absent. Retrieval is a mean over chunks (Hessel et al. 2022 §4.1, footnote 8), the
others are means over images.
"""

from collections.abc import Sequence
from typing import Any

import numpy as np
from numpy.typing import NDArray

from curation.evaluation.comparison import ComparisonKey, instance_agreements
from curation.evaluation.intervals import mean_figure, mean_of_means
from curation.evaluation.localization import LocalizationShares
from curation.evaluation.retrieval import TrueRanks

COMPARISON_COLUMNS = ("human", "model", "random", "oracle")
PERCENT = 100.0


def retrieval_figures(chunks: Sequence[TrueRanks], *, rng: np.random.Generator) -> dict[str, Any]:
    """Return the figures of retrieval, as means over the chunks."""
    return {
        "im2txt": mean_of_means([chunk.im2txt for chunk in chunks], rng=rng).as_json(),
        "txt2im": mean_of_means([chunk.txt2im for chunk in chunks], rng=rng).as_json(),
        "p_at_1": mean_of_means([PERCENT * chunk.hits for chunk in chunks], rng=rng).as_json(),
        "instances": sum(len(chunk.im2txt) for chunk in chunks),
        "chunks": len(chunks),
    }


def localization_figures(shares: LocalizationShares, *, rng: np.random.Generator) -> dict[str, Any]:
    """Return the figures of localization, as means over the images."""
    return {
        "gt_accuracy": mean_figure(PERCENT * shares.given, rng=rng).as_json(),
        "gt_images": len(shares.given),
        "auto_accuracy": mean_figure(PERCENT * shares.proposed, rng=rng).as_json(),
        "auto_images": len(shares.proposed),
        "auto_oracle_accuracy": mean_figure(PERCENT * shares.oracle, rng=rng).as_json(),
    }


def comparison_figures(
    agreements: NDArray[np.float64], *, rng: np.random.Generator, omitted: Sequence[str] = ()
) -> dict[str, Any]:
    """Return the figures of comparison, as means over the images.

    agreements: (n, 4) as ``comparison.instance_agreements`` returns them. omitted: names of figures that have no
    meaning for these scores, such as ``model`` if only people are measured.
    """
    measured = {
        name: mean_figure(agreements[:, column] if name not in omitted else np.zeros(0), rng=rng).as_json()
        for column, name in enumerate(COMPARISON_COLUMNS)
    }
    return {**measured, "images": len(agreements)}


def comparison_figures_without_model(key: ComparisonKey, *, rng: np.random.Generator) -> dict[str, Any]:
    """Return the figures of comparison that need no model: of judges, random scores and the mean rating."""
    agreements = instance_agreements(np.zeros(len(key.test_ids)), key)
    return comparison_figures(agreements, rng=rng, omitted=("model",))
