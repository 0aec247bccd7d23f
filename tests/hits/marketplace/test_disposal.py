"""Late stages of HITs: change of type, disposal after 120 days, late bonuses and overrides."""

from datetime import UTC, datetime, timedelta
from typing import Any

import pytest
from botocore.exceptions import ClientError

from hits.marketplace.models import HIT, Assignment, Clock, LedgerEntry, Worker
from hits.marketplace.services import accounts, blocks, decisions
from hits.marketplace.services.hits import dispose_stale_hits
from tests.hits.marketplace.support import Market, accept, advance_time, hit_params, work
from tests.hits.marketplace.test_conformance import code_of
from tests.hits.marketplace.test_lifecycle import counters
from tests.hits.marketplace.test_money import balance, check_balances

MASTERS = {"QualificationTypeId": "2F1QJWKUDD8XADTFD2Q0G6UTO95ALH", "Comparator": "Exists"}
DAY = 86_400


def type_of(client: Any, **changes: Any) -> str:
    """Return the id of a HIT type like that of ``hit_params``, with changes."""
    other = {"LifetimeInSeconds", "MaxAssignments", "Question"}
    values = {name: value for name, value in hit_params(**changes).items() if name not in other}
    return str(client.create_hit_type(**values)["HITTypeId"])


class TestChangeOfHitType:
    """UpdateHITTypeOfHIT."""

    @pytest.mark.rule(
        "hit-type-change",
        source="M",
        text="UpdateHITTypeOfHIT gives a HIT all properties of another type.",
    )
    def test_hit_takes_properties_of_new_type(self, mturk: Any) -> None:
        hit = mturk.create_hit(**hit_params())["HIT"]
        expected = type_of(mturk, Title="Another title", AssignmentDurationInSeconds=60, Keywords="other")
        mturk.update_hit_type_of_hit(HITId=hit["HITId"], HITTypeId=expected)
        now = mturk.get_hit(HITId=hit["HITId"])["HIT"]
        assert (now["HITTypeId"], now["HITGroupId"], now["Title"]) == (expected, expected, "Another title")
        assert (now["AssignmentDurationInSeconds"], now["Keywords"]) == (60, "other")
        assert now["Expiration"] == hit["Expiration"]

    @pytest.mark.rule(
        "hit-type-change-holds",
        source="ours",
        text="Another reward or fee changes the money held for the HIT's slots exactly.",
    )
    @pytest.mark.parametrize(
        ("change", "held"),
        [
            ({"Reward": "0.45"}, "1.62"),  # 3 × (45 + 9)
            ({"Reward": "2.00"}, "7.20"),  # 3 × (200 + 40)
            ({"Reward": "1.10", "QualificationRequirements": [MASTERS]}, "4.14"),  # 3 × (110 + 28)
        ],
    )
    def test_hold_follows_new_price_exactly(
        self, local_client: Any, amazon_fees: None, change: dict[str, Any], held: str
    ) -> None:
        hit = local_client.create_hit(**hit_params(MaxAssignments=3))["HIT"]
        assert balance(local_client)[1] == "3.96"
        local_client.update_hit_type_of_hit(HITId=hit["HITId"], HITTypeId=type_of(local_client, **change))
        assert balance(local_client)[1] == held
        check_balances()
        local_client.update_expiration_for_hit(HITId=hit["HITId"], ExpireAt=0)
        local_client.delete_hit(HITId=hit["HITId"])
        assert balance(local_client) == ("10000.00", "0.00")

    def test_balance_one_cent_short_is_refused(self, local_market: Market) -> None:
        client = local_market.client(accounts.create_key_pair(name="Poor lab", funds_cents=221))
        hit = client.create_hit(**hit_params(MaxAssignments=2))["HIT"]
        with pytest.raises(ClientError) as failure:
            client.update_hit_type_of_hit(HITId=hit["HITId"], HITTypeId=type_of(client, Reward="1.11"))
        assert code_of(failure)[1] == "InsufficientFunds"
        assert client.get_hit(HITId=hit["HITId"])["HIT"]["Reward"] == "1.10"
        assert balance(client) == ("0.01", "2.20")

    @pytest.mark.rule(
        "hit-type-change-price",
        source="ours",
        text="After a worker took a task of a HIT, its reward and fee cannot change: workers get the "
        "reward they accepted.",
    )
    def test_accepted_work_is_paid_at_accepted_price(self, local_client: Any, worker: Worker) -> None:
        hit = local_client.create_hit(**hit_params())["HIT"]
        accept(worker, hit)
        with pytest.raises(ClientError) as failure:
            local_client.update_hit_type_of_hit(
                HITId=hit["HITId"], HITTypeId=type_of(local_client, Reward="1.00")
            )
        assert code_of(failure)[1] == "InvalidHITState"
        local_client.update_hit_type_of_hit(
            HITId=hit["HITId"], HITTypeId=type_of(local_client, Title="Same price")
        )
        assert local_client.get_hit(HITId=hit["HITId"])["HIT"]["Title"] == "Same price"

    def test_change_of_type_refuses_disposed_hits_and_foreign_types(
        self, local_client: Any, local_market: Market
    ) -> None:
        hit = local_client.create_hit(**hit_params())["HIT"]
        stranger = local_market.client(accounts.create_key_pair(name="Other lab", funds_cents=10_000))
        with pytest.raises(ClientError) as failure:
            local_client.update_hit_type_of_hit(HITId=hit["HITId"], HITTypeId=type_of(stranger))
        assert code_of(failure)[1] == "HITTypeDoesNotExist"
        local_client.update_expiration_for_hit(HITId=hit["HITId"], ExpireAt=0)
        local_client.delete_hit(HITId=hit["HITId"])
        with pytest.raises(ClientError) as failure:
            local_client.update_hit_type_of_hit(
                HITId=hit["HITId"], HITTypeId=type_of(local_client, Title="Late")
            )
        assert code_of(failure)[1] == "InvalidHITState"


@pytest.mark.clock
class TestAutomaticDisposal:
    """120 days after the last thing that happened in a HIT."""

    @pytest.mark.rule(
        "disposal-after-120-days",
        source="D",
        text="A HIT that was Reviewable for 120 days with nothing to decide is disposed automatically.",
    )
    def test_hit_is_disposed_once_after_120_days(self, local_client: Any, worker: Worker) -> None:
        hit = local_client.create_hit(**hit_params(MaxAssignments=2, AutoApprovalDelayInSeconds=DAY))["HIT"]
        work(worker, hit)
        advance_time(days=2)
        local_client.get_hit(HITId=hit["HITId"])  # approves the submissions that are due
        advance_time(days=117, hours=23)
        assert dispose_stale_hits(now=Clock.now()) == 0
        advance_time(hours=2)
        assert dispose_stale_hits(now=Clock.now()) == 1
        assert dispose_stale_hits(now=Clock.now()) == 0
        assert local_client.get_hit(HITId=hit["HITId"])["HIT"]["HITStatus"] == "Disposed"
        assert local_client.list_hits()["HITs"] == []
        assert balance(local_client) == ("9998.90", "0.00")
        check_balances()

    def test_finished_hit_is_idle_from_its_last_submission(self, local_client: Any, worker: Worker) -> None:
        hit = local_client.create_hit(**hit_params(MaxAssignments=1, LifetimeInSeconds=365 * DAY))["HIT"]
        slot = work(worker, hit)
        local_client.approve_assignment(AssignmentId=slot.assignment_id)
        advance_time(days=119)
        assert dispose_stale_hits(now=Clock.now()) == 0
        advance_time(days=2)
        assert dispose_stale_hits(now=Clock.now()) == 1

    def test_offered_or_undecided_hits_are_not_disposed(
        self, local_client: Any, worker: Worker, other: Worker
    ) -> None:
        local_client.create_hit(**hit_params(LifetimeInSeconds=300 * DAY))
        undecided = local_client.create_hit(**hit_params(MaxAssignments=1, Title="Undecided"))["HIT"]
        work(worker, undecided)
        long_task = local_client.create_hit(
            **hit_params(MaxAssignments=1, Title="Long", AssignmentDurationInSeconds=300 * DAY)
        )["HIT"]
        accept(other, long_task)
        prolonged = local_client.create_hit(**hit_params(Title="Prolonged"))["HIT"]
        advance_time(days=100)
        until = datetime.now(UTC) + timedelta(days=101)
        local_client.update_expiration_for_hit(HITId=prolonged["HITId"], ExpireAt=until)
        HIT.objects.filter(hit_id=undecided["HITId"]).update(expires_at=Clock.now() - timedelta(days=150))
        advance_time(days=30)
        assert dispose_stale_hits(now=Clock.now()) == 0

    def test_disposal_respects_limit(self, local_client: Any) -> None:
        for _ in range(3):
            local_client.create_hit(**hit_params(MaxAssignments=1))
        advance_time(days=121)
        assert dispose_stale_hits(now=Clock.now(), limit=2) == 2
        assert dispose_stale_hits(now=Clock.now(), limit=2) == 1


@pytest.mark.rule(
    "override-rejection-not-disposed",
    source="D",
    text="OverrideRejection is refused after the HIT is disposed.",
)
def test_no_override_after_disposal(local_client: Any, worker: Worker) -> None:
    hit = local_client.create_hit(**hit_params(MaxAssignments=1))["HIT"]
    slot = work(worker, hit)
    local_client.reject_assignment(AssignmentId=slot.assignment_id, RequesterFeedback="No.")
    local_client.delete_hit(HITId=hit["HITId"])
    with pytest.raises(ClientError) as failure:
        local_client.approve_assignment(AssignmentId=slot.assignment_id, OverrideRejection=True)
    assert code_of(failure)[1] == "InvalidAssignmentState"
    assert not LedgerEntry.objects.filter(kind="reward").exists()


def test_override_rereads_assignment_under_lock(local_client: Any, worker: Worker) -> None:
    """What was read before somebody disposed of the HIT must not decide."""
    hit = local_client.create_hit(**hit_params(MaxAssignments=1))["HIT"]
    given = work(worker, hit)
    local_client.reject_assignment(AssignmentId=given.assignment_id, RequesterFeedback="No.")
    slot = Assignment.objects.select_related("hit__hit_type", "hit__requester", "worker").get(pk=given.pk)
    local_client.delete_hit(HITId=hit["HITId"])
    with pytest.raises(decisions.WrongState):
        decisions.approve_assignment(slot=slot, now=Clock.now(), override_rejection=True)
    assert not LedgerEntry.objects.filter(kind="reward").exists()


@pytest.mark.clock
@pytest.mark.rule(
    "bonus-six-months", source="D", text="A bonus can be sent within six months (183 days) of the submission."
)
def test_bonus_within_six_months(local_client: Any, worker: Worker) -> None:
    slot = work(worker, local_client.create_hit(**hit_params(MaxAssignments=1))["HIT"])
    bonus = {
        "WorkerId": worker.worker_id,
        "AssignmentId": slot.assignment_id,
        "BonusAmount": "0.10",
        "Reason": "r",
    }
    advance_time(days=182)
    local_client.send_bonus(UniqueRequestToken="early", **bonus)
    advance_time(days=2)
    with pytest.raises(ClientError) as failure:
        local_client.send_bonus(UniqueRequestToken="late", **bonus)
    assert "within six months" in failure.value.response["Error"]["Message"]
    assert len(local_client.list_bonus_payments(AssignmentId=slot.assignment_id)["BonusPayments"]) == 1


@pytest.mark.rule(
    "additional-assignments-expired",
    source="ours",
    text="An expired HIT accepts additional assignments; they are on offer after an extension.",
)
def test_expired_hit_can_get_more_assignments(local_client: Any, worker: Worker) -> None:
    hit = local_client.create_hit(**hit_params(MaxAssignments=1))["HIT"]
    local_client.update_expiration_for_hit(HITId=hit["HITId"], ExpireAt=0)
    local_client.create_additional_assignments_for_hit(HITId=hit["HITId"], NumberOfAdditionalAssignments=1)
    assert counters(local_client, hit) == ("Reviewable", 2, 0, 0)
    assert balance(local_client)[1] == "2.20"
    local_client.update_hit_review_status(HITId=hit["HITId"])
    until = datetime.now(UTC) + timedelta(hours=2)
    local_client.update_expiration_for_hit(HITId=hit["HITId"], ExpireAt=until)
    assert counters(local_client, hit)[0] == "Assignable"
    work(worker, hit)
    local_client.update_expiration_for_hit(HITId=hit["HITId"], ExpireAt=0)
    assert counters(local_client, hit)[0] == "Reviewable"  # no longer Reviewing


@pytest.mark.rule(
    "blocks-at-most",
    source="D",
    text="An account can block at most 100,000 workers; an ended block makes room.",
)
def test_blocks_have_a_limit(
    local_client: Any, workers: list[Worker], monkeypatch: pytest.MonkeyPatch
) -> None:
    assert blocks.MAX_BLOCKS == 100_000
    monkeypatch.setattr(blocks, "MAX_BLOCKS", 2)
    for person in workers[:2]:
        local_client.create_worker_block(WorkerId=person.worker_id, Reason="r")
    local_client.create_worker_block(WorkerId=workers[0].worker_id, Reason="another reason")
    with pytest.raises(ClientError) as failure:
        local_client.create_worker_block(WorkerId=workers[2].worker_id, Reason="r")
    assert "at most 2 workers" in failure.value.response["Error"]["Message"]
    local_client.delete_worker_block(WorkerId=workers[0].worker_id)
    local_client.create_worker_block(WorkerId=workers[2].worker_id, Reason="r")


@pytest.mark.rule(
    "hit-review-status",
    source="ours",
    text="HITReviewStatus is always NotReviewed: it describes Amazon's own moderation, which does not "
    "exist here.",
)
def test_hit_review_status(local_client: Any, worker: Worker) -> None:
    hit = local_client.create_hit(**hit_params(MaxAssignments=1))["HIT"]
    work(worker, hit)
    local_client.update_hit_review_status(HITId=hit["HITId"])
    assert local_client.get_hit(HITId=hit["HITId"])["HIT"]["HITReviewStatus"] == "NotReviewed"
