"""Run long work: queue jobs, share worker slots, report progress, send wake-ups."""
