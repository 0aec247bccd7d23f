"""Publish a batch's HITs: ``publish`` tells the story; lease, rate limit and orphan recovery serve it."""
