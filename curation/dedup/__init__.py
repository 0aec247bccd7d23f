"""Semantic de-duplication: cluster vectors, keep one member of each cluster."""
