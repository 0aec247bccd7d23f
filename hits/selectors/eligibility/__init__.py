"""Whether a worker may do a task, and why not."""
