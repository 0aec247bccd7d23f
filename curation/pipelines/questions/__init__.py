"""Build multiple-choice question sets from a project's triplets by Adversarial Matching (Zellers et al. 2019 §4)."""
