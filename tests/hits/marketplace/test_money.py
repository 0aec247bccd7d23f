"""No cent is created, lost or paid twice; the ledger is append-only."""

from typing import Any

import pytest
from botocore.exceptions import ClientError
from django.db import DatabaseError, IntegrityError, connection, transaction
from django.db.models import Sum

from hits.marketplace.models import AppendOnlyError, Clock, LedgerEntry, Payout, Requester, Worker
from hits.marketplace.selectors.accounts import find_unbalanced_requesters
from hits.marketplace.selectors.worker import compute_earnings
from hits.marketplace.services import accounts, ledger
from tests.hits.marketplace.support import FUNDS, Market, accept, advance_time, hit_params, work


def balance(client: Any) -> tuple[str, str]:
    """Return available and on hold."""
    reply = client.get_account_balance()
    return reply["AvailableBalance"], reply["OnHoldBalance"]


def check_balances() -> None:
    """Sum the ledger and compare it with every balance and with money paid in less money paid on."""
    assert find_unbalanced_requesters() == []
    sums = LedgerEntry.objects.aggregate(a=Sum("available_cents"), h=Sum("held_cents"), w=Sum("worker_cents"))
    paid_in = LedgerEntry.objects.filter(kind="deposit").aggregate(n=Sum("available_cents"))["n"]
    fees = LedgerEntry.objects.filter(kind="fee").aggregate(
        n=Sum("available_cents", default=0) + Sum("held_cents", default=0)
    )["n"]
    payouts = LedgerEntry.objects.filter(kind="payout").aggregate(n=Sum("worker_cents", default=0))["n"]
    assert sums["a"] + sums["h"] + sums["w"] == paid_in + fees + payouts


@pytest.mark.rule(
    "money-steps",
    source="D",
    text="GetAccountBalance: money is held at creation, paid at approval, released at rejection and "
    "disposal.",
)
def test_each_step_of_hit_moves_expected_money(
    local_client: Any, workers: list[Worker], amazon_fees: None
) -> None:
    hit = local_client.create_hit(**hit_params(Reward="0.45", MaxAssignments=4))["HIT"]  # 45 + 9 cents a slot
    assert balance(local_client) == ("9997.84", "2.16")
    slots = [work(person, hit) for person in workers]
    assert balance(local_client) == ("9997.84", "2.16")
    local_client.approve_assignment(AssignmentId=slots[0].assignment_id)
    assert balance(local_client) == ("9997.84", "1.62")
    local_client.reject_assignment(AssignmentId=slots[1].assignment_id, RequesterFeedback="r")
    assert balance(local_client) == ("9998.38", "1.08")
    local_client.send_bonus(
        WorkerId=workers[0].worker_id, BonusAmount="0.10", AssignmentId=slots[0].assignment_id, Reason="r"
    )
    assert balance(local_client) == ("9998.26", "1.08")
    local_client.approve_assignment(AssignmentId=slots[1].assignment_id, OverrideRejection=True)
    assert balance(local_client) == ("9997.72", "1.08")
    local_client.approve_assignment(AssignmentId=slots[2].assignment_id)
    local_client.update_expiration_for_hit(HITId=hit["HITId"], ExpireAt=0)
    local_client.delete_hit(HITId=hit["HITId"])
    assert balance(local_client) == ("9998.26", "0.00")
    assert [compute_earnings(person).earned for person in workers] == [55, 45, 45]
    check_balances()


@pytest.mark.rule("fee-from-ten", source="D", text="From ten assignments the fee is 20 % higher.")
def test_ten_assignments_cost_higher_fee(local_client: Any, amazon_fees: None) -> None:
    local_client.create_hit(**hit_params(Reward="0.45", MaxAssignments=10))
    assert balance(local_client)[1] == "6.30"


@pytest.mark.rule(
    "insufficient-funds",
    source="I",
    text="CreateHIT gets InsufficientFunds if one cent is missing, and creates nothing.",
)
def test_balance_one_cent_short_is_refused(local_market: Market, amazon_fees: None) -> None:
    pair = accounts.create_key_pair(name="Poor lab", funds_cents=107)
    client = local_market.client(pair)
    with pytest.raises(ClientError) as failure:
        client.create_hit(**hit_params(Reward="0.45", MaxAssignments=2))
    assert failure.value.response["TurkErrorCode"] == "AWS.MechanicalTurk.InsufficientFunds"
    assert client.list_hits()["HITs"] == []
    accounts.deposit(requester=pair.requester, cents=1)
    client.create_hit(**hit_params(Reward="0.45", MaxAssignments=2))
    assert balance(client) == ("0.00", "1.08")
    check_balances()


@pytest.mark.rule(
    "bonus-insufficient-funds",
    source="ours",
    text="A bonus above the available balance is refused, and so is a bonus of zero.",
)
def test_bonus_above_balance_is_refused(local_market: Market, worker: Worker) -> None:
    client = local_market.client(accounts.create_key_pair(name="Poor lab", funds_cents=110))
    slot = work(worker, client.create_hit(**hit_params(MaxAssignments=1))["HIT"])
    bonus = {"WorkerId": worker.worker_id, "AssignmentId": slot.assignment_id, "Reason": "r"}
    with pytest.raises(ClientError) as failure:
        client.send_bonus(BonusAmount="0.01", UniqueRequestToken="b", **bonus)
    assert failure.value.response["TurkErrorCode"].endswith("InsufficientFunds")
    assert client.list_bonus_payments(AssignmentId=slot.assignment_id)["BonusPayments"] == []
    with pytest.raises(ClientError):
        client.send_bonus(BonusAmount="0.00", **bonus)
    check_balances()


@pytest.mark.rule("reward-zero", source="M", text="A reward may be 0.00.")
def test_zero_reward_is_allowed_and_writes_no_empty_entries(local_client: Any, worker: Worker) -> None:
    slot = work(worker, local_client.create_hit(**hit_params(Reward="0"))["HIT"])
    local_client.approve_assignment(AssignmentId=slot.assignment_id)
    assert set(LedgerEntry.objects.values_list("kind", flat=True)) == {"deposit"}


@pytest.mark.rule("ledger-append-only", source="ours", text="A ledger entry is never changed or deleted.")
def test_python_refuses_to_change_the_ledger(local_client: Any) -> None:
    entry = LedgerEntry.objects.get()
    entry.note = "nicer"
    for act in (
        entry.save,
        entry.delete,
        LedgerEntry.objects.all().delete,
        lambda: LedgerEntry.objects.update(note="x"),
        lambda: LedgerEntry.objects.bulk_update([entry], ["note"]),
    ):
        with pytest.raises(AppendOnlyError):
            act()


@pytest.mark.parametrize(
    "sql",
    ["UPDATE marketplace_ledgerentry SET note = 'x'", "DELETE FROM marketplace_ledgerentry"],
)
def test_database_refuses_to_change_ledger(local_client: Any, sql: str) -> None:
    with (
        pytest.raises(DatabaseError, match="append-only"),
        transaction.atomic(),
        connection.cursor() as cursor,
    ):
        cursor.execute(sql)
    assert LedgerEntry.objects.count() == 1


@pytest.mark.rule(
    "ledger-kinds", source="ours", text="Each kind of ledger entry moves money in its own direction only."
)
@pytest.mark.parametrize(
    "entry",
    [
        {"kind": "deposit", "available_cents": -5},
        {"kind": "hold", "available_cents": -5, "held_cents": 4},
        {"kind": "reward", "held_cents": -5, "worker_cents": 6},
        {"kind": "fee", "held_cents": 5},
        {"kind": "payout", "worker_cents": 5},
        {"kind": "gift", "available_cents": 5},
    ],
)
def test_ledger_entry_must_match_its_kind(
    requester: accounts.KeyPair, worker: Worker, entry: dict[str, Any]
) -> None:
    with pytest.raises(IntegrityError), transaction.atomic():
        LedgerEntry.objects.create(
            requester=requester.requester, worker=worker, created_at=Clock.now(), **entry
        )


@pytest.mark.rule("never-in-debt", source="ours", text="No balance goes below zero.")
def test_balances_never_go_below_zero(requester: accounts.KeyPair) -> None:
    with pytest.raises(IntegrityError), transaction.atomic():
        Requester.objects.filter(pk=requester.requester.pk).update(available_cents=-1)
    with pytest.raises(ledger.InsufficientFunds):
        ledger.adjust_requester_balance(
            requester=requester.requester, cents=-FUNDS - 1, at=Clock.now(), note="typo"
        )
    ledger.adjust_requester_balance(requester=requester.requester, cents=-1, at=Clock.now(), note="typo")
    assert find_unbalanced_requesters() == []


def _payout(worker: Worker, cents: int) -> Payout:
    now = Clock.now()
    return Payout(
        worker=worker,
        amount_cents=cents,
        paid_on=now.date(),
        means="bank",
        reference="1",
        idempotency_key=str(cents),
        recorded_at=now,
    )


@pytest.mark.rule("payouts", source="ours", text="A payout is at most the amount owed to the worker.")
def test_payout_reduces_owed_and_never_exceeds_it(local_client: Any, worker: Worker) -> None:
    slot = work(worker, local_client.create_hit(**hit_params())["HIT"])
    assert (compute_earnings(worker).in_review, compute_earnings(worker).owed) == (110, 0)
    with pytest.raises(ValueError, match="owed"):
        ledger.post_payout(payout=_payout(worker, 1), at=Clock.now())
    local_client.approve_assignment(AssignmentId=slot.assignment_id)
    ledger.post_payout(payout=_payout(worker, 60), at=Clock.now())
    money = compute_earnings(worker)
    assert (money.earned, money.paid_out, money.owed, money.in_review) == (110, 60, 50, 0)
    check_balances()


@pytest.mark.clock
@pytest.mark.rule("fee-fixed", source="ours", text="The fee of a HIT is fixed when it is created.")
def test_fee_schedule_is_fixed_when_the_hit_is_made(local_client: Any, worker: Worker, settings: Any) -> None:
    slot = accept(worker, local_client.create_hit(**hit_params(MaxAssignments=1))["HIT"])
    settings.MARKETPLACE_FEE_SCHEDULE = "amazon"
    from tests.hits.marketplace.support import submit_task

    submit_task(worker, slot)
    advance_time(days=2)
    local_client.get_hit(HITId=slot.hit.hit_id)
    assert balance(local_client) == ("9998.90", "0.00")
    check_balances()
