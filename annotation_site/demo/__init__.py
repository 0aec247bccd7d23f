"""The rehearsal that ``make demo`` plays: sample photos, a small cast, scripted workers."""
