"""Semantic de-duplication: cluster vectors, keep one member of each cluster.

The names below are loaded at first use, so that importing this package does not load numba.
"""

import lazy_loader

__getattr__, __dir__, __all__ = lazy_loader.attach(
    __name__,
    submod_attrs={
        "cuts": ["ByDistance", "ByFraction", "ByNumber", "Linkage"],
        "groups": ["find_least_similar"],
        "hierarchical": ["cluster", "cluster_to_k"],
        "members": ["keep_first", "keep_largest", "keep_medoid", "keep_random"],
    },
)
