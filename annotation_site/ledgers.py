"""Compare the marketplace's entries with its balances, and our ledger with the marketplace's.

This module is in the composition root because no app below may import both ledgers.
"""

from collections import defaultdict
from dataclasses import asdict, dataclass, field

from django.db import transaction
from django.db.models import F, Q, Sum

from hits.marketplace.models import BonusPayment, EntryKind, Payout
from hits.marketplace.models import LedgerEntry as MarketEntry
from hits.marketplace.selectors.accounts import find_unbalanced_requesters
from hits.models import Assignment, Batch, Hit, OutgoingCall
from hits.payments import ledger
from hits.payments.models import EntryType, LedgerEntry
from hits.payments.statement import HELD_FEE_PREFIX
from hits.services import audit
from hits.services.outbox.outbox_operations import call_reference

LOCAL_ENVIRONMENT = "local"  # the environment whose marketplace is in this database
_SCRIPT_BONUS_PREFIX = (
    "bonus:script:"  # the key of a bonus that a script sent; the marketplace's number follows
)


@dataclass
class LedgerSums:
    """What a batch has on hold and has paid, in cents."""

    held: int = 0
    reward: int = 0
    bonus: int = 0
    fee: int = 0


@dataclass(frozen=True)
class ScriptBonus:
    """A bonus that is in the marketplace's ledger only: a script sent it with the account's key.

    ``bonus`` is the marketplace's number of it; amounts are cents.
    """

    bonus: int
    hit_id: str
    assignment_id: str
    amount_cents: int
    fee_cents: int


@dataclass(frozen=True)
class LedgerDifference:
    """A batch on which the two ledgers differ, with the bonuses that scripts sent and our ledger lacks."""

    batch: int
    ours: LedgerSums
    marketplace: LedgerSums
    scripts_bonuses: list[ScriptBonus] = field(default_factory=list)

    @property
    def can_post_script_bonuses(self) -> bool:
        """True when the scripts' bonuses are the whole difference in bonuses, so no call of ours is under way."""
        missing = sum(row.amount_cents for row in self.scripts_bonuses)
        return 0 < missing == self.marketplace.bonus - self.ours.bonus


@dataclass(frozen=True)
class LedgerReport:
    """How many batches were compared, and every difference that was found."""

    requesters: list[str]
    payouts: list[int]
    batches: list[LedgerDifference]
    compared_count: int

    @property
    def agrees(self) -> bool:
        """True when nothing differs."""
        return not (self.requesters or self.payouts or self.batches)

    def as_json(self) -> dict[str, object]:
        """Return the report as ``check_ledger --json`` prints it."""
        return {
            "agrees": self.agrees,
            "unbalanced_requesters": self.requesters,
            "payouts_without_their_entry": self.payouts,
            "batches_that_differ": [asdict(row) for row in self.batches],
            "batches_compared": self.compared_count,
        }


def compare_ledgers() -> LedgerReport:
    """Compare all requesters, payouts and batches; writes nothing."""
    ids = list(
        Batch.objects.filter(environment=LOCAL_ENVIRONMENT).order_by("pk").values_list("pk", flat=True)
    )
    ours, theirs = _sum_own_ledger(), _sum_marketplace_ledger()
    return LedgerReport(
        requesters=find_unbalanced_requesters(),
        payouts=_find_mismatched_payout_pks(),
        batches=[
            LedgerDifference(pk, ours[pk], theirs[pk], _find_script_bonuses(pk))
            for pk in ids
            if ours[pk] != theirs[pk]
        ],
        compared_count=len(ids),
    )


def post_script_bonuses() -> int:
    """Post the bonuses that scripts sent to our ledger, each once; return how many. Idempotent.

    The bonuses are paid already, so nothing is sent. Batches whose bonuses differ for another reason are skipped, and
    so are bonuses for work that is not collected yet.
    """
    return sum(_post_bonuses(row) for row in compare_ledgers().batches if row.can_post_script_bonuses)


@transaction.atomic
def _post_bonuses(difference: LedgerDifference) -> int:
    batch = Batch.objects.select_related("project").get(pk=difference.batch)
    posted = 0
    for row in difference.scripts_bonuses:
        assignment = Assignment.objects.filter(
            hit__unit__batch=batch, hit__hit_id=row.hit_id, assignment_id=row.assignment_id
        ).first()
        posted += assignment is not None and _post_bonus(batch, assignment, row)
    return posted


def _post_bonus(batch: Batch, assignment: Assignment, row: ScriptBonus) -> bool:
    key = f"{_SCRIPT_BONUS_PREFIX}{row.bonus}"
    facts = {"batch": batch, "assignment": assignment}
    if not ledger.post_if_new(entry=EntryType.BONUS, amount_cents=row.amount_cents, key=key, **facts):
        return False
    ledger.post_if_new(entry=EntryType.FEE, amount_cents=row.fee_cents, key=f"fee:{key}", **facts)
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


def _find_script_bonuses(batch_pk: int) -> list[ScriptBonus]:
    """Return the bonuses for a batch's HITs that no call of ours sent and that are not posted yet."""
    sent = OutgoingCall.objects.filter(batch=batch_pk, operation=OutgoingCall.Operation.BONUS)
    references = {call_reference(call) for call in sent.only("token").iterator()}
    keys = LedgerEntry.objects.filter(batch=batch_pk, key__startswith=_SCRIPT_BONUS_PREFIX)
    posted = set(keys.values_list("key", flat=True))
    hits = Hit.objects.filter(environment=LOCAL_ENVIRONMENT, unit__batch=batch_pk, hit_id__isnull=False)
    paid = BonusPayment.objects.filter(assignment__hit__hit_id__in=hits.values("hit_id"))
    return [
        ScriptBonus(
            row.pk,
            row.assignment.hit.hit_id,
            row.assignment.assignment_id,
            row.amount_cents,
            row.fee_cents,
        )
        for row in paid.select_related("assignment__hit").order_by("pk").iterator()
        # A bonus of ours ends with its call's reference (hits.services.outbox.outbox_operations).
        if row.reason.rpartition(" ")[2] not in references and f"{_SCRIPT_BONUS_PREFIX}{row.pk}" not in posted
    ]


def _find_mismatched_payout_pks() -> list[int]:
    """Return the keys of payouts whose ledger entry is missing or has another amount."""
    posted = Sum("ledger__worker_cents", filter=Q(ledger__kind=EntryKind.PAYOUT), default=0)
    rows = Payout.objects.annotate(posted=posted).exclude(posted=-F("amount_cents"))
    return list(rows.order_by("pk").values_list("pk", flat=True))


def _sum_own_ledger() -> dict[int, LedgerSums]:
    sums: dict[int, LedgerSums] = defaultdict(LedgerSums)
    rows = (
        LedgerEntry.objects.filter(batch__environment=LOCAL_ENVIRONMENT)
        .order_by()
        .values_list("batch", "entry")
    )
    fee_of_reward = Q(entry="fee", key__startswith=HELD_FEE_PREFIX)
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


def _sum_marketplace_ledger() -> dict[int, LedgerSums]:
    """Return the sums of the marketplace's entries by batch."""
    batches = dict(
        Hit.objects.filter(environment=LOCAL_ENVIRONMENT, hit_id__isnull=False).values_list(
            "hit_id", "unit__batch"
        )
    )
    rows = MarketEntry.objects.filter(hit__isnull=False).order_by().values_list("hit__hit_id", "kind")
    sums: dict[int, LedgerSums] = defaultdict(LedgerSums)
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
