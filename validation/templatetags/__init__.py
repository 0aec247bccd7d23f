"""Template tags of the pages about judging and workers."""
