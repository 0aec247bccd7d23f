"""Pages of question sets."""
