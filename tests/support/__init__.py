"""Helpers that tests share. Nothing here is imported by the platform."""
