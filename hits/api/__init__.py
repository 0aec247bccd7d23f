"""JSON endpoints. Each one parses the request, calls a service and returns JSON."""
