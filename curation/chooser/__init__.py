"""Models that choose one of four responses to a question about an image (Zellers et al. 2019 §5)."""
