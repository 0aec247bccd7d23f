"""Services: the only code that writes the marketplace's rows."""
