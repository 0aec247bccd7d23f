"""The projects' own ledger. Its rows refer to models of hits by name."""
