"""VCR (Zellers et al. 2019): questions, answers and rationales with object tags, and their multiple choices."""
