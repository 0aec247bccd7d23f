"""Take submissions from task pages, and match them with what the marketplace lists."""
