"""Audits as plain data: the codebook, the sample of pairs, the labels, and the readers' agreement.

Source: Hessel et al. (ECCV 2022, doi:10.1007/978-3-031-20059-5_32), "Intended use cases", "Assessing topic diversity"
and appendix A.4: 250 random pairs, 150 clues, and the most toxic pairs of each split.
"""
