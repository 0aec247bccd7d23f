"""Reads. No function here writes or opens a transaction."""
