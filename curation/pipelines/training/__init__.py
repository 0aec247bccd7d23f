"""Train a scorer of the project, or import one."""
