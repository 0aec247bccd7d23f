"""Results of judgments: reports, decisions, sample size plans, and files of judgments."""
