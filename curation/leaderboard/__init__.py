"""Leaderboards: teams hand in predictions on a sealed version's held keys, and stand in a public table.

An app of its own, with its own audience and its own sign-in (a team's key). It reads versions, evaluation sets and
measures; nothing else of curation imports it.
"""
