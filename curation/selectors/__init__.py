"""Queries on curation's models, and on the projects' work through ``hits.selectors``; one module per subject."""
