"""Pick the best of several images of one text (Ventura et al. 2025 §3)."""
