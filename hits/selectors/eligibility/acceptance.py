"""Whether a worker may accept one task more: what our marketplace asks before it hands one out.

It asks by the function that ``MARKETPLACE_ACCEPT_CHECK`` names, within the transaction that accepts. So of two tasks
that are accepted at once under a limit of one, the second is never given.
"""

from collections.abc import Collection

from hits.models import Batch, Hit, Worker
from hits.selectors.eligibility.attempt_proof import BUILT_IN
from hits.selectors.eligibility.limits import limit_reached, seen_before, unit_taken
from hits.selectors.pages import OWN_WORK, is_excluded


def why_not_accept(*, worker_id: str, hit_id: str, held: Collection[str]) -> tuple[list[str], bool]:
    """Return why this HIT is not for the worker, and whether that goes for all others of its group as well.

    held: ids of HITs that the worker has in hand or submitted, on that marketplace. A HIT that is not one of ours has
    no such reason.
    """
    hit = Hit.objects.select_related("unit__batch__project").filter(hit_id=hit_id).first()
    if hit is None or hit.environment != BUILT_IN:
        return [], False
    worker = Worker.objects.filter(environment=BUILT_IN, worker_id=worker_id).first()
    if is_excluded(worker, hit.unit):
        return [OWN_WORK], False
    batch = hit.unit.batch
    full = limit_reached(worker, batch, held=held)
    if full:  # batches of equal terms share a group there
        return full, not Batch.objects.filter(hit_type_id=batch.hit_type_id).exclude(pk=batch.pk).exists()
    return seen_before(worker, hit) or unit_taken(worker, hit, held=held), False
