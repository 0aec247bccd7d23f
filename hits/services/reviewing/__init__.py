"""Decide on submissions, one by one or by an uploaded file, and store trainers' feedback."""
