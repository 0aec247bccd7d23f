"""Read scenes, prompts, generated images, image triplets and their evaluations (Ventura et al. 2025)."""
