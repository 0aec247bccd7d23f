"""How curation pages write numbers."""
