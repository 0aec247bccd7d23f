"""Whether somebody who opens a task's page is the worker whom its address names.

An address proves nothing: unit, HIT and assignment ids stand in every worker's frame, and a requester reads the ids
of those who worked for them. Our own marketplace puts a secret of the attempt into ``turkSubmitTo``, and says through
the function that ``ATTEMPT_PROOF`` names whether it is the present one of that worker, assignment and HIT. A foreign
marketplace has none: there a page tells nothing about a worker, and believes nothing about where they live.
"""

import re

from django.conf import settings
from django.utils.module_loading import import_string

BUILT_IN = "local"
_SECRET = re.compile(r"/a/(?P<secret>[0-9a-f]{64})/mturk/externalSubmit")


def has_proof(environment: str) -> bool:
    """Whether attempts on that marketplace carry a secret that we can check."""
    return environment == BUILT_IN


def is_proven(submit_to: str, *, hit_id: str, assignment_id: str, worker_id: str) -> bool:
    """Whether the address that a page hands its answer over to holds this attempt's secret.

    submit_to: absolute, with ``/mturk/externalSubmit`` at its end; only an address of ours can prove anything.
    """
    if not submit_to.startswith(f"{settings.PUBLIC_URL}/"):
        return False
    found = _SECRET.fullmatch(submit_to.removeprefix(settings.PUBLIC_URL))
    holds = import_string(settings.ATTEMPT_PROOF)
    return found is not None and bool(
        holds(found["secret"], hit_id=hit_id, assignment_id=assignment_id, worker_id=worker_id)
    )


def known_country(environment: str, worker_id: str) -> str:
    """Return the country that our own marketplace knows of a worker, for a page that proved who asks."""
    return str(import_string(settings.KNOWN_COUNTRY)(worker_id)) if has_proof(environment) else ""
