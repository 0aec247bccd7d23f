"""Hard negatives: comparison sets built from plausibility scores and text vectors.

The names below are loaded at first use, so that pages can read the options without a numerical library.
"""

import lazy_loader

__getattr__, __dir__, __all__ = lazy_loader.attach(
    __name__,
    submod_attrs={
        "comparison_sets": ["ComparisonSetResult", "build_comparison_sets"],
        "options": ["ComparisonSetOptions"],
        "plausibility": ["EmbeddingPlausibility", "PlausibilityMatrix"],
    },
)
