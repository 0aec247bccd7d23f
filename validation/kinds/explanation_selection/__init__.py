"""Tick the explanations that link two images (Ventura et al. 2025 §4.2, fig. 17)."""
