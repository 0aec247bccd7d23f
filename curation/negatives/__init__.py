"""Hard negatives: comparison sets built from plausibility scores and text vectors."""
