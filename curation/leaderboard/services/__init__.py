"""Services that write leaderboards, teams and entries."""
