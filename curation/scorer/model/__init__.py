"""The scorer as a model: its two towers, its tokens, its weights, and its folder with a card."""
