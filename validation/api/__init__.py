"""What researchers' scripts read of judging."""
