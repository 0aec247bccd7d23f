"""Sherlock (Hessel et al. 2022): observation pairs, comparison sets, and the three leaderboard tasks."""
