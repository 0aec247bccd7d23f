"""The training of a scorer: batches, objective, loop, checkpoints, validation and journal."""
