"""Marketplace calls that wait in the outbox, each made exactly once."""
