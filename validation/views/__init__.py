"""Pages about judging and about workers."""
