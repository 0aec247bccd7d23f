"""Dataset families: the contents of a family's versions, and how they are written. Each subfolder is a family."""
