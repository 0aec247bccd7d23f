"""Live hints about what an annotator writes: advice while there is time to change it, never a block.

Plain data in, plain data out: no framework, no model library, no file. What needs a model is asked of an
``Encoder`` (see ``card``), and an encoder that does not answer in time means no hint.
"""
