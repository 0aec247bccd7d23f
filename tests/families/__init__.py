"""Families of the tests."""
