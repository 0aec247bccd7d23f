"""Training of choosers from a run's folder."""
