"""Build, seal, export and read back dataset versions."""
