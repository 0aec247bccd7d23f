"""Pages. Each view checks the role, reads through selectors, calls a service and renders."""
