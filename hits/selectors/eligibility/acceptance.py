"""Whether a worker may accept another task. Our marketplace checks this before it assigns one.

``MARKETPLACE_ACCEPT_CHECK`` names the function. It runs inside the accepting transaction: if a worker with a limit of
one accepts two tasks at the same time, the second is refused.
"""

from collections.abc import Collection

from hits.models import Batch, Hit, Worker
from hits.selectors.eligibility.attempt_proof import BUILT_IN_ENVIRONMENT
from hits.selectors.eligibility.limits import (
    own_project_refusals,
    unit_revealed_refusals,
    unit_seen_refusals,
    unit_taken_refusals,
    worker_limit_refusals,
)
from hits.selectors.eligibility.own_work import OWN_WORK_REASON, is_excluded


def acceptance_refusals(
    *, worker_id: str, hit_id: str, taken_hit_ids: Collection[str]
) -> tuple[list[str], bool]:
    """Return why the worker may not accept this HIT, and whether the reasons hold for its whole group.

    taken_hit_ids: HITs that the worker has accepted or submitted on that marketplace. A HIT that is not ours gives no
    reason.
    """
    hit = Hit.objects.select_related("unit__batch__project").filter(hit_id=hit_id).first()
    if hit is None or hit.environment != BUILT_IN_ENVIRONMENT:
        return [], False
    worker = Worker.objects.filter(environment=BUILT_IN_ENVIRONMENT, worker_id=worker_id).first()
    if is_excluded(worker, hit.unit):
        return [OWN_WORK_REASON], False
    batch = hit.unit.batch
    limit_refusals = worker_limit_refusals(worker, batch, taken_hit_ids=taken_hit_ids)
    if limit_refusals:  # batches with equal terms share a group there
        return limit_refusals, not Batch.objects.filter(hit_type_id=batch.hit_type_id).exclude(
            pk=batch.pk
        ).exists()
    refusals = own_project_refusals(worker_id, hit) or unit_seen_refusals(worker, hit)
    refusals = refusals or unit_revealed_refusals(worker, hit)
    return refusals or unit_taken_refusals(worker, hit, taken_hit_ids=taken_hit_ids), False
