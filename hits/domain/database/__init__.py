"""What migrations share: append-only triggers, and migrations that refuse to be reversed."""
