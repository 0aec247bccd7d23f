"""A marketplace that speaks the MTurk requester API and pays its own workers.

An app of its own: it imports nothing of the platform but ``hits.domain``, and nothing of the platform
imports it. Requesters reach it over HTTP (``/mturk/``) or, in one process, through ``transport.attach``.
"""
