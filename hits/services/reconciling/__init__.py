"""Compare a batch with the marketplace, and apply the remedies that a person chose."""
