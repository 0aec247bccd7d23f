"""Long computations such as vectors, clustering and comparison sets. Imported by tasks and commands, not by pages."""
