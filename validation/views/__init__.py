"""Pages about judging and about people."""
