"""Long-running jobs: queue jobs, share worker slots, report progress, send wake-ups."""
