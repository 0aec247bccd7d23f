"""Adversarial Matching: right responses of other questions become wrong choices (Zellers et al. 2019 §4)."""
