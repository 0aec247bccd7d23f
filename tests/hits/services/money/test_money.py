"""Fee schedules as data, and estimates that equal the marketplace's charges to the cent."""

import random
from collections.abc import Callable
from io import StringIO
from typing import Any

import pytest
from django.contrib.auth.models import User
from django.core.exceptions import ImproperlyConfigured
from django.core.management import CommandError, call_command
from django.test import Client
from django.urls import reverse
from hypothesis import given
from hypothesis import strategies as st

from annotation_site.ledgers import compare_ledgers
from hits import registry
from hits.domain.money.fees import AMAZON_FEES, FEE_SCHEDULES, LOCAL_FEES, FeeSchedule, fee_schedule
from hits.domain.money.usd import format_dollars, parse_typed_usd
from hits.domain.states import ReviewVerdict
from hits.domain.workers.requirements import MASTERS
from hits.marketplace.models import HIT, LedgerEntry, Requester
from hits.models import Assignment, Batch, Hit, Image, Project
from hits.mturk.boto import marketplace
from hits.mturk.environments import current_environment
from hits.payments import ledger
from hits.payments.models import EntryType
from hits.services.errors import Refused
from hits.services.launching.launch_estimate import estimate_cost
from hits.services.launching.terms import LaunchTerms
from hits.services.publishing import publish
from hits.services.reviewing import review
from tests.support import market
from tests.support.answers import observations
from tests.support.loop import approve, collected, launched, published

MakeImage = Callable[..., Image]
database = pytest.mark.django_db(transaction=True)
KIND = "sherlock_observation"


# --- fee schedules


@pytest.mark.rule(
    "fees.amazon",
    source="D",
    text="20 % of rewards and bonuses, 20 % more from ten assignments, 5 % more for Masters.",
)
def test_the_schedules_are_data() -> None:
    assert set(FEE_SCHEDULES) == {"local", "amazon"}
    assert FeeSchedule("local", 0) == LOCAL_FEES
    assert FeeSchedule("amazon", 2_000, 2_000, 10, 500, 1) == AMAZON_FEES
    assert AMAZON_FEES.bonus_fee_cents(100) == 20
    assert AMAZON_FEES.for_masters().bonus_fee_cents(100) == 20
    assert AMAZON_FEES.for_masters().fee_cents(100, 9) == AMAZON_FEES.fee_cents(100, 9, masters=True) == 25


def test_a_schedule_can_be_spelled_out() -> None:
    own = fee_schedule("base=7.5% minimum=2")
    assert (own.fee_cents(100), own.fee_cents(1), own.name) == (8, 2, "own")
    assert fee_schedule("lab base=10%") == FeeSchedule("lab", 1_000)


@pytest.mark.parametrize(
    ("text", "message"),
    [
        ("ebay", "Known: amazon, local"),
        ("base=10", "base is '10'; write a share"),
        ("base=101%", "base is '101%'"),
        ("base=1.005%", "base is '1.005%'"),
        ("minimum=1", "base is missing"),
        ("base=10% tax=1%", "'tax=1%' is not a field"),
        ("base=10% base=11%", "base occurs twice"),
        ("base=1% many_from=0", "many_from is '0'; write a whole number from 1"),
        ("base=1% minimum=-1", "minimum is '-1'"),
        ("Lab base=1%", "fee schedule 'Lab'"),
    ],
)
def test_a_bad_schedule_names_the_field(text: str, message: str, settings: Any) -> None:
    with pytest.raises((LookupError, ValueError), match=message):
        fee_schedule(text)
    settings.MARKETPLACE_FEE_SCHEDULE = text
    with pytest.raises(ImproperlyConfigured, match="MARKETPLACE_FEE_SCHEDULE"):
        current_environment()


@given(
    st.builds(
        FeeSchedule,
        name=st.sampled_from(["own", "lab-2"]),
        base_bp=st.integers(0, 10_000),
        many_bp=st.integers(1, 10_000),
        many_from=st.integers(1, 9_999),
        masters_bp=st.integers(0, 10_000),
        minimum_cents=st.integers(0, 9_999),
    )
)
def test_a_row_keeps_a_schedule_whole(plan: FeeSchedule) -> None:
    assert fee_schedule(plan.name_and_rates) == plan
    assert len(plan.name_and_rates) <= 80


@pytest.mark.parametrize(
    ("typed", "cents"), [("$1,234.50", 123_450), (" 12.5 ", 1_250), ("12,345,678", 1_234_567_800)]
)
def test_sums_as_people_type_them(typed: str, cents: int) -> None:
    assert parse_typed_usd(typed) == cents


@pytest.mark.parametrize("typed", ["12,50", "1,2345", "1.005", "-1", "", "1e3", "$"])
def test_ambiguous_sums_are_refused(typed: str) -> None:
    with pytest.raises(ValueError, match="is not an amount"):
        parse_typed_usd(typed)


@database
def test_a_batch_keeps_its_rates_when_the_data_change(
    project: Project, make_image: MakeImage, settings: Any, monkeypatch: pytest.MonkeyPatch
) -> None:
    settings.MARKETPLACE_FEE_SCHEDULE = "amazon"
    market.fund()
    batch = launched(project, [make_image(1)], terms=LaunchTerms(reward_cents=100))
    assert batch.fee_schedule == "amazon base=20% many=20% many_from=10 masters=5% minimum=1"
    monkeypatch.setitem(FEE_SCHEDULES, "amazon", FeeSchedule("amazon", 3_000, minimum_cents=1))
    fee_schedule.cache_clear()
    try:
        assert Batch.objects.get().fees == AMAZON_FEES
        assert Batch.objects.get().slot_cents(1) == 120
        with pytest.raises(Refused, match=r"the fees of 'amazon base=20%.*but the fees of 'amazon base=30%"):
            publish.publish_batch(batch=batch, marketplace=marketplace())
    finally:
        fee_schedule.cache_clear()


# --- the estimate before is the charge after


def _terms(draw: random.Random) -> LaunchTerms:
    return LaunchTerms(
        reward_cents=draw.choice([1, 2, 7, 8, draw.randint(1, 300)]),
        bonus_cents=draw.choice([0, 1, 3, draw.randint(0, 60)]),
        redundancy=draw.choice([1, 2, 9, 10, 12, draw.randint(1, 30)]),
        masters_only=draw.random() < 0.3,
        confirmed_cents=None,
    )


@database
@pytest.mark.parametrize("schedule", ["local", "amazon"])
@pytest.mark.parametrize("part", range(5))
def test_what_is_held_is_the_estimate_to_the_cent(
    project: Project, make_image: MakeImage, settings: Any, schedule: str, part: int
) -> None:
    """Fifty random batches in ten parts."""
    settings.MARKETPLACE_FEE_SCHEDULE = schedule
    Project.objects.update(confirm_above_cents=10**9)
    project.refresh_from_db()
    owner = market.fund(10**9)
    draw = random.Random(f"{schedule}-{part}")
    kind = registry.get_kind(KIND)
    for number in range(5):
        terms = _terms(draw)
        images = [make_image(part * 100 + number * 10 + n) for n in range(draw.randint(1, 2))]
        before = Requester.objects.get(pk=owner.pk)
        cost = estimate_cost(kind=kind, terms=terms, units=len(images))
        batch = published(project, images, terms=terms)
        after = Requester.objects.get(pk=owner.pk)
        assert after.held_cents - before.held_cents == cost.held_cents, terms
        assert before.available_cents - after.available_cents == cost.held_cents
        assert ledger.sum_entries(batch=batch).held == cost.held_cents
        assert batch.estimate_cents == cost.max_cents
        assert Hit.objects.filter(unit__batch=batch).count() == cost.hits
        asked = HIT.objects.filter(hit_type__hit_type_id=batch.hit_type_id)[
            0
        ].hit_type.qualification_requirements
        assert any(row["QualificationTypeId"] == MASTERS for row in asked) == terms.masters_only
    assert compare_ledgers().agrees


@database
@pytest.mark.parametrize(("schedule", "bonus"), [("local", 15), ("amazon", 15), ("amazon", 1), ("amazon", 0)])
def test_everybody_earning_all_costs_the_most_that_was_shown(
    project: Project, make_image: MakeImage, settings: Any, schedule: str, bonus: int
) -> None:
    settings.MARKETPLACE_FEE_SCHEDULE = schedule
    owner = market.fund()
    terms = LaunchTerms(reward_cents=45, bonus_cents=bonus, redundancy=11)
    cost = estimate_cost(kind=registry.get_kind(KIND), terms=terms, units=1)
    batch = published(project, [make_image(1)], terms=terms)
    people = iter([market.market_worker(f"worker{n}") for n in range(11)])
    for hit in Hit.objects.order_by("slice"):
        for _ in range(hit.max_assignments):
            market.work(hit, next(people), observations(5))
    for assignment in collected(batch):
        approve(assignment)
    sums = ledger.sum_entries(batch=batch)
    owner.refresh_from_db()
    assert (sums.spent, sums.held) == (cost.max_cents, 0)
    assert (owner.held_cents, 1_000_000 - owner.available_cents) == (0, cost.max_cents)
    assert compare_ledgers().agrees


# --- both ledgers


@database
def test_check_ledger_names_the_differences(project: Project, make_image: MakeImage, settings: Any) -> None:
    settings.MARKETPLACE_FEE_SCHEDULE = "amazon"
    market.fund()
    batch = published(project, [make_image(1)], terms=LaunchTerms(reward_cents=100, redundancy=2))
    for name in ("wilma", "fred"):
        market.work(Hit.objects.get(), market.market_worker(name), observations(5))
    first, second = collected(batch)
    approve(first)
    decision = review.decide_assignment(
        assignment=second, verdict=ReviewVerdict.REJECT, by=None, feedback="No box fits."
    )
    review.settle_decision(decision=decision, marketplace=marketplace())
    assert _check() == {
        "agrees": True,
        "unbalanced_requesters": [],
        "payouts_without_their_entry": [],
        "batches_that_differ": [],
        "batches_compared": 1,
    }
    ledger.post_if_new(entry=EntryType.BONUS, amount_cents=1, key="bonus:by hand", batch=batch)
    with pytest.raises(
        CommandError, match=rf"batch {batch.pk}: ours held 0.00, rewards 1.00, bonuses 0.31"
    ) as refused:
        call_command("check_ledger", stdout=StringIO())
    assert refused.value.returncode == 1
    Requester.objects.update(available_cents=1)
    assert compare_ledgers().requesters == ["Deerstalker"]


def _check() -> Any:
    import json

    out = StringIO()
    call_command("check_ledger", "--json", stdout=out)
    return json.loads(out.getvalue())


@database
def test_accounting_gets_every_entry_with_balances_and_no_worker_id(
    client: Client, project: Project, researcher: User, make_image: MakeImage
) -> None:
    market.fund()
    batch = published(project, [make_image(1)])
    person = market.market_worker()
    market.work(Hit.objects.get(), person, observations(5))
    (assignment,) = collected(batch)
    approve(assignment)
    client.force_login(researcher)
    reply: Any = client.get(reverse("project-ledger-csv", args=[project.slug]))
    lines = b"".join(reply.streaming_content).decode().split("\r\n")
    assert lines[0] == "date,batch,batch_name,entry,amount,spent,on_hold,worker"
    rows = [line.split(",")[3:] for line in lines[1:-1]]
    label = str(Assignment.objects.get().worker)
    assert rows == [
        ["hold", "1.10", "0.00", "1.10", ""],
        ["reward", "1.10", "1.10", "0.00", label],
        ["bonus", "0.30", "1.40", "0.00", label],
    ]
    assert person.worker_id not in "".join(lines)


@database
def test_ledger_check_ignores_other_requesters(project: Project, make_image: MakeImage) -> None:
    market.fund()
    published(project, [make_image(1)])
    assert LedgerEntry.objects.filter(hit__isnull=False).exists()
    Hit.objects.update(hit_id=None, state="intent")
    report = compare_ledgers()
    assert [row.batch for row in report.batches] == [Batch.objects.get().pk], (
        "ours holds what theirs cannot show"
    )
    assert format_dollars(report.batches[0].ours.held) == "$1.10"
