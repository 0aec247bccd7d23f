"""Kinds that do not judge, one folder each. They import only hits.kind, hits.domain, hits.hints, hits.observing."""
