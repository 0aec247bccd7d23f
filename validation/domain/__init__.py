"""Scales and sums of judgments, without a framework."""
