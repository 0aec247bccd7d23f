"""Find the rows that a call names. Another requester's rows count as missing."""

from typing import Any

from hits.marketplace.errors import ApiError, not_found_error
from hits.marketplace.models import HIT, Assignment, HITType, QualificationType, SlotState, Worker
from hits.marketplace.selectors.lifecycle import HITStatus, SlotCounts, count_slots, hit_status
from hits.marketplace.services import lifecycle, tokens
from hits.marketplace.services.hits import lock_hit_row

from .registry import Call

_UNSUBMITTED = (SlotState.OPEN, SlotState.PENDING)


def find_hit(call: Call, hit_id: str) -> HIT:
    """Return a HIT of the caller after its due changes. Raises HITDoesNotExist."""
    hits = HIT.objects.select_related("hit_type", "requester", "layout")
    hit = hits.filter(requester=call.requester, hit_id=hit_id).first()
    if hit is None:
        raise ApiError("HITDoesNotExist", f"Hit {hit_id} does not exist.")
    lifecycle.apply_due_changes_of_hits(hit_pks=[hit.pk], now=call.now)
    return hit


def lock_hit(call: Call, hit_id: str) -> HIT:
    """Return a HIT as ``find_hit`` does and lock its row until the call ends, so that checks stay valid.

    (PostgreSQL. An accept takes the same lock, so nobody takes a task of a HIT during its disposal.)
    """
    HIT.objects.select_for_update(no_key=True).filter(requester=call.requester, hit_id=hit_id).first()
    return find_hit(call, hit_id)


def find_hit_type(call: Call, hit_type_id: str) -> HITType:
    """Return a HIT type of the caller. Raises HITTypeDoesNotExist."""
    hit_types = HITType.objects.select_related("requester").filter(
        requester=call.requester, hit_type_id=hit_type_id
    )
    hit_type = hit_types.first()
    if hit_type is None:
        raise not_found_error("HITType", hit_type_id)
    return hit_type


def find_qualification_type(call: Call, type_id: str) -> QualificationType:
    """Return a qualification type of the caller. Raises QualificationTypeDoesNotExist."""
    own_types = QualificationType.objects.filter(requester=call.requester, deleted_at__isnull=True)
    qualification_type = own_types.filter(type_id=type_id).first()
    if qualification_type is None:
        raise not_found_error("QualificationType", type_id)
    return qualification_type


def lock_qualification_type(call: Call, type_id: str) -> QualificationType:
    """Return a locked qualification type of the caller, so that concurrent changes do not undo each other."""
    rows = QualificationType.objects.select_for_update(no_key=True).filter(requester=call.requester)
    rows.filter(type_id=type_id).first()
    return find_qualification_type(call, type_id)


def find_worker(worker_id: str) -> Worker:
    """Return a worker by the pseudonym that requesters know. Raises WorkerDoesNotExist.

    The caller may name any worker whose pseudonym it has; its task pages get it even in a preview.
    """
    worker = Worker.objects.filter(worker_id=worker_id).first()
    if worker is None:
        raise not_found_error("Worker", worker_id)
    return worker


def find_submission(call: Call, assignment_id: str, *, lock_hit: bool = False) -> Assignment:
    """Return a submitted assignment of the caller. Raises AssignmentDoesNotExist, InvalidAssignmentState.

    ``lock_hit`` locks the HIT's row until the call ends. All callers lock the HIT before its assignments.
    """
    own_slots = Assignment.objects.filter(hit__requester=call.requester, assignment_id=assignment_id)
    hit_pk = own_slots.values_list("hit_id", flat=True).first()
    if hit_pk is None:
        raise not_found_error("Assignment", assignment_id)
    if lock_hit:
        lock_hit_row(hit_pk)
    lifecycle.apply_due_changes_of_hits(hit_pks=[hit_pk], now=call.now)
    slot = own_slots.select_related("hit__hit_type", "hit__requester", "hit__layout", "worker").get()
    if slot.state in _UNSUBMITTED:
        raise ApiError("InvalidAssignmentState", "This operation can be called with a status of: null")
    return slot


def get_status_and_counts(call: Call, hit: HIT) -> tuple[HITStatus, SlotCounts]:
    """Return a HIT's current status and its slot counts."""
    counts = count_slots([hit])[hit.pk]
    return hit_status(hit, counts, call.now), counts


def check_not_disposed(hit: HIT) -> None:
    """Raise ApiError for a disposed HIT."""
    if hit.disposed_at is not None:
        raise ApiError("InvalidHITState", "This HIT is currently in the state 'Disposed'.")


def claim_token(call: Call, params: dict[str, Any], code: str, detail: str = "") -> Any:
    """Claim the call's request token. Raises ApiError ``code`` for a used one; ``detail`` names its row."""
    return tokens.claim_token(
        requester=call.requester,
        operation=call.operation,
        token=params.get("UniqueRequestToken"),
        now=call.now,
        code=code,
        detail=detail,
    )
