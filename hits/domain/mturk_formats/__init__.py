"""Mechanical Turk's file and message formats."""
