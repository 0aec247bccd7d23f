"""The projects' own ledger. Its models refer to models of the app hits by name."""
