"""Finding what a call names. Another requester's rows do not exist from here."""

from __future__ import annotations

from hits.marketplace.errors import ApiError, missing
from hits.marketplace.models import HIT, Assignment, HITType, QualificationType, SlotState, Worker
from hits.marketplace.selectors.lifecycle import HITStatus, SlotCounts, count_slots, status_of
from hits.marketplace.services import lifecycle
from hits.marketplace.services.hits import locked

from .registry import Call

_UNSUBMITTED = (SlotState.OPEN, SlotState.PENDING)


def find_hit(call: Call, hit_id: str) -> HIT:
    """Return a HIT of the caller with everything due in it done. Raises HITDoesNotExist."""
    hits = HIT.objects.select_related("hit_type", "requester", "layout")
    hit = hits.filter(requester=call.requester, hit_id=hit_id).first()
    if hit is None:
        raise ApiError("HITDoesNotExist", f"Hit {hit_id} does not exist.")
    lifecycle.sweep_hits(hit_pks=[hit.pk], now=call.now)
    return hit


def lock_hit(call: Call, hit_id: str) -> HIT:
    """Return a HIT as ``find_hit`` does, its row held until the call ends: what is checked of it stays so.

    (PostgreSQL. An accept takes the same lock, so that nobody takes a task of a HIT that is being disposed of.)
    """
    HIT.objects.select_for_update(no_key=True).filter(requester=call.requester, hit_id=hit_id).first()
    return find_hit(call, hit_id)


def find_hit_type(call: Call, hit_type_id: str) -> HITType:
    """Return a HIT type of the caller. Raises HITTypeDoesNotExist."""
    found = HITType.objects.select_related("requester").filter(
        requester=call.requester, hit_type_id=hit_type_id
    )
    hit_type = found.first()
    if hit_type is None:
        raise missing("HITType", hit_type_id)
    return hit_type


def find_qualification_type(call: Call, type_id: str) -> QualificationType:
    """Return a qualification type of the caller. Raises QualificationTypeDoesNotExist."""
    mine = QualificationType.objects.filter(requester=call.requester, deleted_at__isnull=True)
    kind = mine.filter(type_id=type_id).first()
    if kind is None:
        raise missing("QualificationType", type_id)
    return kind


def lock_qualification_type(call: Call, type_id: str) -> QualificationType:
    """Return a qualification type of the caller to be changed: of two changes at once none undoes the other."""
    rows = QualificationType.objects.select_for_update(no_key=True).filter(requester=call.requester)
    rows.filter(type_id=type_id).first()
    return find_qualification_type(call, type_id)


def find_worker(worker_id: str) -> Worker:
    """Return a worker by the pseudonym that requesters know. Raises WorkerDoesNotExist.

    Anybody may be named whose pseudonym the caller has: a task page learns it from a preview already.
    """
    worker = Worker.objects.filter(worker_id=worker_id).first()
    if worker is None:
        raise missing("Worker", worker_id)
    return worker


def find_submission(call: Call, assignment_id: str, *, lock_hit: bool = False) -> Assignment:
    """Return a submitted assignment of the caller. Raises AssignmentDoesNotExist, InvalidAssignmentState.

    ``lock_hit`` holds its HIT's row until the call ends, taken before any assignment's, as everybody takes them.
    """
    mine = Assignment.objects.filter(hit__requester=call.requester, assignment_id=assignment_id)
    hit_pk = mine.values_list("hit_id", flat=True).first()
    if hit_pk is None:
        raise missing("Assignment", assignment_id)
    if lock_hit:
        locked(hit_pk)
    lifecycle.sweep_hits(hit_pks=[hit_pk], now=call.now)
    slot = mine.select_related("hit__hit_type", "hit__requester", "hit__layout", "worker").get()
    if slot.state in _UNSUBMITTED:
        raise ApiError("InvalidAssignmentState", "This operation can be called with a status of: null")
    return slot


def standing(call: Call, hit: HIT) -> tuple[HITStatus, SlotCounts]:
    """Return a HIT's present status and its slot counts."""
    counts = count_slots([hit])[hit.pk]
    return status_of(hit, counts, call.now), counts
