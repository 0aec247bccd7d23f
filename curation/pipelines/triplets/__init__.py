"""Jobs that write prompts, generate images, and evaluate models on image triplets (Ventura et al. 2025)."""
