"""Read curation's own rows, and the projects' work through ``hits.selectors``; one module a subject."""
