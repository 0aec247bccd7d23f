"""The only writers of leaderboards, teams and entries."""
