"""Compare a batch with the marketplace, and carry out remedies that a person chose."""
