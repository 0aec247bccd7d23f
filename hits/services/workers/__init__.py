"""Decide who may work, and delete what workers said about themselves."""
