"""Decide who may work, and delete workers' demographics."""
