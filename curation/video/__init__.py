"""Shots and captions of film clips, computed from arrays and text files (Zellers et al. 2019 §3, §B.1)."""
