"""Pages on the HIT origin, inside the marketplace's frame."""
