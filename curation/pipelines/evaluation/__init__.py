"""Evaluate scorers, encoders, people and shortcuts on a split of a sealed version, and analyse errors."""
