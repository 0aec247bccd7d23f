"""How relevant a response is to a question, and how similar two responses are (Zellers et al. 2019 §4, §C)."""
