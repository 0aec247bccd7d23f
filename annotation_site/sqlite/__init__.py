"""Django's SQLite backend, whose writers wait in line."""
