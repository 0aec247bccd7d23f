"""Write: launch judging, decide about people. Each module one subject."""
