"""Named points at which a test can kill the process.

Random kills almost never hit the small window between a reply and the commit that records it, so these windows have
names. Nothing happens unless ``DEERSTALKER_CRASH_AT`` names one. Then the process ends there without any clean-up, as
after ``kill -9``.
"""

import os
from collections import Counter

CRASH_POINTS = (
    "publish.after_type_call",
    "publish.after_look",
    "publish.after_generation",
    "publish.after_surplus",
    "publish.before_intent",
    "publish.after_intent",
    "publish.after_call",
    "publish.after_result",
    "settle.before_intent",
    "settle.after_intent",
    "settle.after_call",
    "settle.after_result",
    "expire.after_plan",
    "dispose.after_call",
    "extend.after_plan",
    "qualify.after_intent",
    "qualify.after_call",
    "qualify.after_notice",
    "answer.after_decision",
    "submit.after_store",
    "seal.after_prepare",
    "seal.amid_rows",
    "seal.after_close",
    "export.amid_file",
    "export.before_rename",
    "model.after_intent",
    "model.after_call",
    "model.after_result",
    "marketplace.submit.after_commit",
    "marketplace.deliver.after_claim",
    "marketplace.deliver.after_send",
)
EXIT_STATUS = 137
_pass_counts: Counter[str] = Counter()


def crash_point(name: str) -> None:
    """End the process at this point if a test requests it; ``name:7`` ends it at the seventh pass.

    Raises:
        LookupError: the name is not listed. So a test with an outdated name fails.
    """
    if name not in CRASH_POINTS:
        raise LookupError(f"unknown crash point {name!r}")
    target, _, number = os.environ.get("DEERSTALKER_CRASH_AT", "").partition(":")
    if target != name:
        return
    _pass_counts[name] += 1
    if _pass_counts[name] >= int(number or 1):
        os._exit(EXIT_STATUS)
