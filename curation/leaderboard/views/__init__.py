"""The public pages, which know a team by its key, and the organisers' pages on the console."""
