"""The project's own ledger. Reads nothing of hits but plain data; rows point at batches by name."""
