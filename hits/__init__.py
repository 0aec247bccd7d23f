"""Publish tasks, collect and review answers, pay workers. Imports neither judging nor curation."""
