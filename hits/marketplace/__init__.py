"""A marketplace that serves the MTurk requester API and pays its own workers.

A separate app: it imports only ``hits.domain`` of the platform, and the platform does not import it.
Requesters reach it over HTTP (``/mturk/``) or, in one process, through ``transport.attach_transport``.
"""
