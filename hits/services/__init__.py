"""The only code that writes rows. Arguments are keyword-only; each step is atomic, and each call can be repeated."""
