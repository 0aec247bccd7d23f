"""The demo's second project: films drawn on the spot, questions about them, and their multiple choices."""
