"""What judgments come to: reports, decisions, plans, and files of judgments."""
