"""Whether the books agree: the marketplace's entries with its balances, and our ledger with the marketplace's.

Here, since no app below knows both ledgers.
"""

from collections import defaultdict
from dataclasses import asdict, dataclass, field

from django.db import transaction
from django.db.models import F, Q, Sum

from hits.marketplace.models import BonusPayment, EntryKind, Payout
from hits.marketplace.models import LedgerEntry as MarketEntry
from hits.marketplace.selectors.accounts import unbalanced_requesters
from hits.models import Assignment, Batch, Hit, OutgoingCall
from hits.payments import ledger
from hits.payments.models import Entry, LedgerEntry
from hits.payments.statement import HELD_FEE
from hits.services import audit
from hits.services.outbox.outbox_operations import reference

LOCAL = "local"  # the environment whose marketplace is in this database
_SCRIPTS_BONUS = "bonus:script:"  # how the key of a bonus begins that a script sent; its number follows


@dataclass
class Sums:
    """What a batch has on hold and has paid, in cents."""

    held: int = 0
    reward: int = 0
    bonus: int = 0
    fee: int = 0


@dataclass(frozen=True)
class ScriptsBonus:
    """A bonus that stands in the marketplace's ledger alone: a script sent it with the account's own key.

    ``bonus`` is its number there; amounts are cents.
    """

    bonus: int
    hit_id: str
    assignment_id: str
    amount_cents: int
    fee_cents: int


@dataclass(frozen=True)
class Difference:
    """A batch on which the two ledgers do not agree, with the bonuses that scripts sent and ours does not know."""

    batch: int
    ours: Sums
    marketplace: Sums
    scripts_bonuses: list[ScriptsBonus] = field(default_factory=list)

    @property
    def can_book(self) -> bool:
        """True when those bonuses are all that the bonuses differ by: nothing of our own is on its way."""
        missing = sum(row.amount_cents for row in self.scripts_bonuses)
        return 0 < missing == self.marketplace.bonus - self.ours.bonus


@dataclass(frozen=True)
class Report:
    """What was compared, and every difference."""

    requesters: list[str]
    payouts: list[int]
    batches: list[Difference]
    compared: int

    @property
    def agrees(self) -> bool:
        """True when there is no difference at all."""
        return not (self.requesters or self.payouts or self.batches)

    def as_json(self) -> dict[str, object]:
        """Return plain values."""
        return {
            "agrees": self.agrees,
            "unbalanced_requesters": self.requesters,
            "payouts_without_their_entry": self.payouts,
            "batches_that_differ": [asdict(row) for row in self.batches],
            "batches_compared": self.compared,
        }


def check_books() -> Report:
    """Compare everything and return the report; writes nothing."""
    ids = list(Batch.objects.filter(environment=LOCAL).order_by("pk").values_list("pk", flat=True))
    ours, theirs = _ours(), _marketplaces()
    return Report(
        requesters=unbalanced_requesters(),
        payouts=_unbooked_payouts(),
        batches=[
            Difference(pk, ours[pk], theirs[pk], _scripts_bonuses(pk)) for pk in ids if ours[pk] != theirs[pk]
        ],
        compared=len(ids),
    )


def book_scripts_bonuses() -> int:
    """Write the bonuses that scripts sent into our ledger, each once; return how many. Repeatable.

    They are paid, and nothing is sent. A batch is left alone whose bonuses differ by anything else, and so is a bonus
    for work that was not collected yet.
    """
    return sum(_book(row) for row in check_books().batches if row.can_book)


@transaction.atomic
def _book(difference: Difference) -> int:
    batch = Batch.objects.select_related("project").get(pk=difference.batch)
    booked = 0
    for row in difference.scripts_bonuses:
        assignment = Assignment.objects.filter(
            hit__unit__batch=batch, hit__hit_id=row.hit_id, assignment_id=row.assignment_id
        ).first()
        booked += assignment is not None and _book_one(batch, assignment, row)
    return booked


def _book_one(batch: Batch, assignment: Assignment, row: ScriptsBonus) -> bool:
    key = f"{_SCRIPTS_BONUS}{row.bonus}"
    facts = {"batch": batch, "assignment": assignment}
    if not ledger.write(entry=Entry.BONUS, amount_cents=row.amount_cents, key=key, **facts):
        return False
    ledger.write(entry=Entry.FEE, amount_cents=row.fee_cents, key=f"fee:{key}", **facts)
    audit.record(
        project=batch.project,
        actor=None,
        action="reconcile.book_bonus",
        subject=row.bonus,
        batch=batch.pk,
        cents=row.amount_cents,
        fee_cents=row.fee_cents,
    )
    return True


def _scripts_bonuses(batch: int) -> list[ScriptsBonus]:
    """Return the bonuses for a batch's HITs that are neither of a call of ours nor booked since."""
    sent = OutgoingCall.objects.filter(batch=batch, operation=OutgoingCall.Operation.BONUS)
    references = {reference(call) for call in sent.only("token").iterator()}
    keys = LedgerEntry.objects.filter(batch=batch, key__startswith=_SCRIPTS_BONUS)
    booked = set(keys.values_list("key", flat=True))
    hits = Hit.objects.filter(environment=LOCAL, unit__batch=batch, hit_id__isnull=False)
    paid = BonusPayment.objects.filter(assignment__hit__hit_id__in=hits.values("hit_id"))
    return [
        ScriptsBonus(
            row.pk,
            row.assignment.hit.hit_id,
            row.assignment.assignment_id,
            row.amount_cents,
            row.fee_cents,
        )
        for row in paid.select_related("assignment__hit").order_by("pk").iterator()
        # A bonus of ours ends with its call's reference (hits.services.outbox_calls).
        if row.reason.rpartition(" ")[2] not in references and f"{_SCRIPTS_BONUS}{row.pk}" not in booked
    ]


def _unbooked_payouts() -> list[int]:
    """Return the keys of payouts whose entry is missing or says another sum."""
    booked = Sum("ledger__worker_cents", filter=Q(ledger__kind=EntryKind.PAYOUT), default=0)
    rows = Payout.objects.annotate(booked=booked).exclude(booked=-F("amount_cents"))
    return list(rows.order_by("pk").values_list("pk", flat=True))


def _ours() -> dict[int, Sums]:
    sums: dict[int, Sums] = defaultdict(Sums)
    rows = LedgerEntry.objects.filter(batch__environment=LOCAL).order_by().values_list("batch", "entry")
    fee_of_reward = Q(entry="fee", key__startswith=HELD_FEE)
    summed = rows.annotate(
        cents=Sum("amount_cents"), from_hold=Sum("amount_cents", filter=fee_of_reward, default=0)
    )
    for pk, entry, cents, from_hold in summed:
        batch = sums[pk]
        if entry == "hold":
            batch.held += cents
        elif entry == "release":
            batch.held -= cents
        else:
            setattr(batch, entry, cents)
            batch.held -= cents if entry == "reward" else from_hold
    return sums


def _marketplaces() -> dict[int, Sums]:
    """Return the same of the marketplace's entries, by the batch whose HIT they are about."""
    batches = dict(
        Hit.objects.filter(environment=LOCAL, hit_id__isnull=False).values_list("hit_id", "unit__batch")
    )
    rows = MarketEntry.objects.filter(hit__isnull=False).order_by().values_list("hit__hit_id", "kind")
    sums: dict[int, Sums] = defaultdict(Sums)
    for hit_id, kind, available, held, worker in rows.annotate(
        Sum("available_cents"), Sum("held_cents"), Sum("worker_cents")
    ).iterator():
        if hit_id not in batches:
            continue  # another requester's, or made by a script with this site's own key
        batch = sums[batches[hit_id]]
        batch.held += held
        if kind == EntryKind.REWARD:
            batch.reward += worker
        elif kind == EntryKind.BONUS:
            batch.bonus += worker
        elif kind == EntryKind.FEE:
            batch.fee -= available + held
    return sums
