"""Template tags and filters of curation pages."""
