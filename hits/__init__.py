"""Put work before people, take answers, pay. Knows nothing of judging or curation."""
