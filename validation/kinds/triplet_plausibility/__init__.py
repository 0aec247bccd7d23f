"""Say which of two images is more plausible beside a third (Ventura et al. 2025 §4.1, fig. 16)."""
