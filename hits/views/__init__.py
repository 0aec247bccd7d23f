"""Pages. Thin: check the role, read through selectors, call a service, render."""
