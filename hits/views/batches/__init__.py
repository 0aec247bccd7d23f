"""Pages of batches: list, launch, extend, reconcile, results, top-up, uploaded templates."""
