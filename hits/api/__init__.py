"""JSON endpoints. Thin: read, call a service, answer."""
