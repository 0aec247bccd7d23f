"""Sherlock (Hessel et al. 2022): observation pairs, comparison sets, and the leaderboard's three tasks."""
