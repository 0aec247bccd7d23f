"""Pages of scorers and their training."""
