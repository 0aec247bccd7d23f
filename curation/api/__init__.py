"""What teams' scripts call at a leaderboard."""
