"""Read: judgments, grades, standing. Nothing here opens a transaction."""
