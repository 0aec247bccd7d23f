"""Background jobs: queues, turns, speed, and labels for what they found."""
