"""Qualification of workers: outcomes, trainers' remarks, worker status, and rules about workers."""
