"""What kinds that collect observation pairs share (Hessel et al. 2022, §3.1): the pair, its card, checks, remarks.

Kinds never import one another, so what two of them have in common stands here, below them.
"""
