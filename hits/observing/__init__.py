"""Shared parts of kinds that collect observation pairs (Hessel et al. 2022 §3.1): pair, card, checks, remarks.

Kinds never import one another, so their shared code is in this package.
"""
