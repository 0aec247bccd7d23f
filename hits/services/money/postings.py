"""Write what the marketplace did with an assignment's money into our ledger, each movement once.

Whoever learns of it first writes it: the call that caused it, or a look at the marketplace's list. The keys are
the same either way, so the second one writes nothing.
"""

from hits.domain.states import HitState
from hits.models import Assignment, Hit, OutgoingCall
from hits.payments import ledger
from hits.payments.models import Entry, LedgerEntry


def assignment_key(assignment: Assignment) -> str:
    """Return what names the assignment in ledger keys; the same id may come back in another HIT."""
    return f"{assignment.hit_id}:{assignment.assignment_id}"


def book_reward(assignment: Assignment) -> None:
    """Write an approval: the reward and its fee leave what was held.

    A rejection released the hold; its override holds the money anew before it pays.
    """
    batch, key = assignment.hit.unit.batch, assignment_key(assignment)
    facts = {"batch": batch, "assignment": assignment}
    held = batch.slot_cents(assignment.hit.max_assignments)
    if LedgerEntry.objects.filter(key=f"release:{key}").exists():
        ledger.write(entry=Entry.HOLD, amount_cents=held, key=f"hold:override:{key}", **facts)
    fee = held - batch.reward_cents
    ledger.write(entry=Entry.REWARD, amount_cents=batch.reward_cents, key=f"reward:{key}", **facts)
    ledger.write(entry=Entry.FEE, amount_cents=fee, key=f"fee:reward:{key}", **facts)


def book_rejection(assignment: Assignment) -> None:
    """Write a rejection: what was held for the assignment is free again."""
    batch = assignment.hit.unit.batch
    ledger.write(
        entry=Entry.RELEASE,
        amount_cents=batch.slot_cents(assignment.hit.max_assignments),
        key=f"release:{assignment_key(assignment)}",
        batch=batch,
        assignment=assignment,
    )


def book_bonus(call: OutgoingCall) -> None:
    """Write a bonus and its fee; an assignment has at most one of its decision, and one of each top-up."""
    assert call.assignment is not None
    key = assignment_key(call.assignment)
    if call.top_up_id is not None:
        key = f"{key}:top-up:{call.top_up_id}"
    facts = {"batch": call.batch, "assignment": call.assignment}
    ledger.write(entry=Entry.BONUS, amount_cents=call.amount_cents, key=f"bonus:{key}", **facts)
    ledger.write(entry=Entry.FEE, amount_cents=call.fee_cents, key=f"fee:bonus:{key}", **facts)


def book_disposal(hit: Hit) -> None:
    """Write that a HIT is disposed of: what was held for the slots that nobody took is free again.

    Inside the caller's transaction, and after everything that was handed in for it was copied.
    """
    batch = hit.unit.batch
    Hit.objects.filter(pk=hit.pk).update(state=HitState.EXPIRED)
    untaken = hit.max_assignments - hit.assignments.count()
    ledger.write(
        entry=Entry.RELEASE,
        amount_cents=untaken * batch.slot_cents(hit.max_assignments),
        key=f"release:dispose:{hit.pk}",
        batch=batch,
    )


def book_more_assignments(call: OutgoingCall) -> None:
    """Write what is held for the assignments that a HIT was given on top."""
    assert call.hit is not None
    held = call.args["more"] * call.batch.slot_cents(call.args["total"])
    ledger.write(entry=Entry.HOLD, amount_cents=held, key=f"hold:extend:{call.pk}", batch=call.batch)
