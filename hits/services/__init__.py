"""The only code that writes rows. Keyword-only arguments; each step atomic; each call repeatable."""
