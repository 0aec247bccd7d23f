"""The judging API for researchers' scripts."""
