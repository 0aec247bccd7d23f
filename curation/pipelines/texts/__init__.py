"""Analyse the texts of approved pairs: duplicates, topics, toxicity, and similarity to captions."""
