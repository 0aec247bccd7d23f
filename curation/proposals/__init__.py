"""Boxes that may hold something worth a look: who proposes them, and how well they cover what people drew."""
