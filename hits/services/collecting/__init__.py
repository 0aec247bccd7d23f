"""Store submissions from task pages, and match them with the marketplace's assignments."""
