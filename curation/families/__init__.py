"""Dataset families, one folder each, found by folder: what a version of the family holds, and how it is written."""
