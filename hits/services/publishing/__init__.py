"""Publish a batch's HITs: ``publish`` runs the publication with a lease, a rate limit and orphan recovery."""
