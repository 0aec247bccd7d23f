"""Post the marketplace's movements of an assignment's money to our ledger, each once.

The call that causes a movement posts it, or a sync with the marketplace does. Both use the same key, so the second
one posts nothing.
"""

from hits.domain.states import HitState
from hits.models import Assignment, Hit, OutgoingCall
from hits.payments import ledger
from hits.payments.models import EntryType, LedgerEntry


def assignment_ledger_key(assignment: Assignment) -> str:
    """Return the assignment's part of ledger keys; the same id may occur in another HIT."""
    return f"{assignment.hit_id}:{assignment.assignment_id}"


def post_reward(assignment: Assignment) -> None:
    """Post an approval: the reward and its fee leave the hold.

    A rejection released the hold, so an override first posts a new hold.
    """
    batch, key = assignment.hit.unit.batch, assignment_ledger_key(assignment)
    references = {"batch": batch, "assignment": assignment}
    held_cents = batch.slot_cents(assignment.hit.max_assignments)
    if LedgerEntry.objects.filter(key=f"release:{key}").exists():
        ledger.post_if_new(
            entry=EntryType.HOLD, amount_cents=held_cents, key=f"hold:override:{key}", **references
        )
    fee = held_cents - batch.reward_cents
    ledger.post_if_new(
        entry=EntryType.REWARD, amount_cents=batch.reward_cents, key=f"reward:{key}", **references
    )
    ledger.post_if_new(entry=EntryType.FEE, amount_cents=fee, key=f"fee:reward:{key}", **references)


def post_rejection(assignment: Assignment) -> None:
    """Post a rejection: the hold of the assignment is released."""
    batch = assignment.hit.unit.batch
    ledger.post_if_new(
        entry=EntryType.RELEASE,
        amount_cents=batch.slot_cents(assignment.hit.max_assignments),
        key=f"release:{assignment_ledger_key(assignment)}",
        batch=batch,
        assignment=assignment,
    )


def post_bonus(call: OutgoingCall) -> None:
    """Post a bonus and its fee; an assignment has at most one for its decision and one for each top-up."""
    assert call.assignment is not None
    key = assignment_ledger_key(call.assignment)
    if call.top_up_id is not None:
        key = f"{key}:top-up:{call.top_up_id}"
    references = {"batch": call.batch, "assignment": call.assignment}
    ledger.post_if_new(
        entry=EntryType.BONUS, amount_cents=call.amount_cents, key=f"bonus:{key}", **references
    )
    ledger.post_if_new(entry=EntryType.FEE, amount_cents=call.fee_cents, key=f"fee:bonus:{key}", **references)


def post_disposal(hit: Hit) -> None:
    """Post the disposal of a HIT: the hold of unused assignments is released.

    Call it inside a transaction, after all submissions of the HIT were copied.
    """
    Hit.objects.filter(pk=hit.pk).update(state=HitState.EXPIRED)
    post_release_of_unused_assignments(hit)


def post_release_of_unused_assignments(hit: Hit) -> None:
    """Post the release of the hold of an expired HIT's unused assignments."""
    batch = hit.unit.batch
    unused = hit.max_assignments - hit.assignments.count()
    ledger.post_if_new(
        entry=EntryType.RELEASE,
        amount_cents=unused * batch.slot_cents(hit.max_assignments),
        key=f"release:dispose:{hit.pk}",
        batch=batch,
    )


def post_added_assignments(call: OutgoingCall) -> None:
    """Post the hold for the assignments that were added to a HIT."""
    assert call.hit is not None
    held_cents = call.args["more"] * call.batch.slot_cents(call.args["total"])
    ledger.post_if_new(
        entry=EntryType.HOLD, amount_cents=held_cents, key=f"hold:extend:{call.pk}", batch=call.batch
    )
