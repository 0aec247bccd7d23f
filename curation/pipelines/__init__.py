"""Heavy work: vectors, clustering, comparison sets. Imported by tasks and commands, never by a page."""
