"""The official leaderboard measures, as functions from arrays to dataclasses."""
