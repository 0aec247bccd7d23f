"""Leaderboards: teams submit predictions on a sealed version's private keys, and appear in a public table.

A separate app, with its own audience and sign-in (a team's key). It uses versions, evaluation sets and measures;
nothing else in curation imports it.
"""
