"""Budget checks, and postings to our ledger."""
