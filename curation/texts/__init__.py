"""Analyses of written texts: copies, groups, topics, toxicity, likeness to captions.

Plain data and arrays in, plain data out: no framework, no model library. What a model says comes in as an array
or through a Protocol. Source of the analyses: Hessel et al. 2022, section 3.2 and appendices A.4, D and E,
doi:10.1007/978-3-031-20059-5_32.
"""
