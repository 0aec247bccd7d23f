"""Judge people and answers."""
