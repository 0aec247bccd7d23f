"""Collecting kinds, one folder each. A kind imports ``hits.kind`` and ``hits.domain`` only."""
