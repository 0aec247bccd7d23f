"""NL-Eye: image triplets in the published layout (Ventura et al. 2025)."""
