"""The measures of the Sherlock leaderboard, as functions from arrays to dataclasses.

The names below are loaded at first use.
"""

import lazy_loader

__getattr__, __dir__, __all__ = lazy_loader.attach(
    __name__,
    submod_attrs={
        "comparison": ["parse_comparison_key", "score_comparison"],
        "intervals": ["mean_figure", "mean_of_means"],
        "localization": ["parse_localization_key", "score_localization"],
        "retrieval": ["parse_retrieval_key", "rank_true_pairs", "score_retrieval"],
    },
)
