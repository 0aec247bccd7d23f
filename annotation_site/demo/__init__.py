"""The demo that ``make demo`` runs: sample photos, demo users, scripted workers."""
