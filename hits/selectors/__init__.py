"""Read-only queries. No function here writes or opens a transaction."""
