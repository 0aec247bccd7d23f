"""Leaderboards: teams submit predictions, which are scored with private answer keys, and a public table ranks them.

This is an app of its own, since its users are teams, who sign in with a team's key. It imports versions, evaluation
sets and measures; no other part of curation imports it.
"""
