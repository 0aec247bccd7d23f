"""Plain data and rules of image triplets: scene files, facet quotas, word diffs and the order of hypotheses.

Source: Ventura et al. 2025. Nothing here knows a row or a framework.
"""
