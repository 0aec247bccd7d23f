"""The only writers of the marketplace's rows."""
