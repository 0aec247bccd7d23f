"""Live hints about what a worker writes: advice while it can still be changed, never a block.

Plain data in, plain data out: no framework, no model library, no file. Rules that need a model use an ``Encoder``
(see ``card``); an encoder that does not answer in time gives no hint.
"""
