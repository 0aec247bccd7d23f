"""Queries on leaderboards and entries; one module for rows, one for tables of figures."""
