"""Judging rounds: specs, ratings, sampling, quality checks, and evidence of careless answers."""
