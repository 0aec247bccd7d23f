"""Pages of evaluations and ablations."""
