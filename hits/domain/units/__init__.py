"""Units of a batch: files of units, arms, and how many workers each unit gets."""
