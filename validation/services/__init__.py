"""Services that write: launch judging rounds, compute reports, decide about items and workers."""
