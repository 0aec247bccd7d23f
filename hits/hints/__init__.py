"""Live hints about a worker's text: advice while it is being written, which never prevents a submission.

Plain data in, plain data out: no framework, no model library, no file. Rules that need a model use a
``SimilarityModel`` (see ``card``); an encoder that does not answer in time gives no hint.
"""
