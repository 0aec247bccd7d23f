"""Explain why one of two images is more plausible, and describe the triplet (Ventura et al. 2025 §3)."""
