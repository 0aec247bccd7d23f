"""Whether the visitor of a task's page is the worker whom its address names.

An address proves no identity: every worker's frame shows unit, HIT and assignment ids, and requesters see worker
ids. Our own marketplace puts a secret of the attempt into ``turkSubmitTo``. The function that ``ATTEMPT_PROOF`` names
checks that the secret is current for that worker, assignment and HIT. A foreign marketplace has no secret: a page
there shows nothing about a worker and trusts no country.
"""

import re

from django.conf import settings
from django.utils.module_loading import import_string

BUILT_IN_ENVIRONMENT = "local"
_SECRET_PATTERN = re.compile(r"/a/(?P<secret>[0-9a-f]{64})/mturk/externalSubmit")


def has_attempt_proof(environment: str) -> bool:
    """Return whether attempts on that marketplace carry a secret that we can check."""
    return environment == BUILT_IN_ENVIRONMENT


def is_attempt_proven(submit_to: str, *, hit_id: str, assignment_id: str, worker_id: str) -> bool:
    """Return whether the address to which a page submits contains this attempt's secret.

    submit_to: absolute, ending in ``/mturk/externalSubmit``; only our own addresses prove anything.
    """
    if not submit_to.startswith(f"{settings.PUBLIC_URL}/"):
        return False
    match = _SECRET_PATTERN.fullmatch(submit_to.removeprefix(settings.PUBLIC_URL))
    is_valid_secret = import_string(settings.ATTEMPT_PROOF)
    return match is not None and bool(
        is_valid_secret(match["secret"], hit_id=hit_id, assignment_id=assignment_id, worker_id=worker_id)
    )


def marketplace_country(environment: str, worker_id: str) -> str:
    """Return the worker's country on our own marketplace, for a page whose visitor is proven."""
    return str(import_string(settings.KNOWN_COUNTRY)(worker_id)) if has_attempt_proof(environment) else ""
