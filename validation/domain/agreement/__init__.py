"""Agreement between people's labels: coefficients with intervals, votes, and models of rater reliability."""
