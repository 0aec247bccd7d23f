"""Train models of interestingness, and select images with them (Zellers et al. 2019 §B.2)."""
