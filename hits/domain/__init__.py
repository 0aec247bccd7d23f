"""Plain data and rules. Imports no framework and nothing else of ours."""
