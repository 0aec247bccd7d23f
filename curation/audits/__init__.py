"""Close readings as plain data: the codebook, which pairs are read, what was answered and how far readers agree.

Sources: paper 000, "Intended use cases", "Assessing topic diversity" and A.4 (Hessel et al. 2022,
doi:10.1007/978-3-031-20059-5_32): 250 random pairs, 150 clues, and the most toxic pairs of each split.
"""
