"""Named places at which a test may kill the process.

Random kills almost never hit the small window between a reply and the commit that records it, so
the windows have names. Nothing happens unless ``DEERSTALKER_CRASH_AT`` names one; then the process
ends there as ``kill -9`` would end it, without any clean-up.
"""

import os

POINTS = (
    "publish.before_intent",
    "publish.after_intent",
    "publish.after_call",
    "publish.after_result",
    "settle.after_intent",
    "settle.after_call",
    "qualify.after_intent",
    "qualify.after_call",
    "qualify.after_notice",
    "answer.after_decision",
    "submit.after_store",
    "marketplace.submit.after_commit",
)
EXIT_STATUS = 137


def crash_point(name: str) -> None:
    """End the process here if a test asked for it.

    Raises:
        LookupError: the name is not listed, so that a renamed point cannot make a test pass for nothing.
    """
    if name not in POINTS:
        raise LookupError(f"unknown crash point {name!r}")
    if os.environ.get("DEERSTALKER_CRASH_AT") == name:
        os._exit(EXIT_STATUS)
