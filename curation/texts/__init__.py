"""Analyses of texts: copies, clusters, topics, toxicity, similarity to captions.

Works on plain data and arrays, without a framework or model library; model outputs are passed as arrays or through a
Protocol. Source of the analyses: Hessel et al. 2022, section 3.2 and appendices A.4, D and E,
doi:10.1007/978-3-031-20059-5_32.
"""
