"""Template tags of the pages about people."""
