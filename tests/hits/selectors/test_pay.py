"""Measured pay: tables worked out by hand, a slow second opinion on random work, and the pages that show it."""

import csv
import io
import random
from collections.abc import Callable
from fractions import Fraction
from statistics import median as plain_median
from typing import Any

import pytest
from django.contrib.auth.models import User
from django.db import connection
from django.test import Client
from django.test.utils import CaptureQueriesContext
from django.urls import reverse

from hits.domain.money.pay import HOUR_SECONDS, RateSpread, gap_cents, is_under_target, rate_spread
from hits.domain.quantiles import lower_quantile, median_interval_ranks, quantile
from hits.models import Batch, Hit, Image, Project, Worker
from hits.mturk.boto import marketplace
from hits.selectors.money import pay, pay_card
from hits.services.batches import top_up as top_up_service
from hits.services.launching.terms import LaunchTerms
from hits.services.reviewing import review
from tests.support import market
from tests.support.answers import observations
from tests.support.loop import approve, collected, published

MakeImage = Callable[..., Image]


def test_rate_spread_worked_example() -> None:
    """Rewards of $1 for 200, 240, 300, 360 and 400 seconds make $18, $15, $12, $10 and $9 an hour."""
    found = rate_spread([(100, 200), (100, 240), (100, 300), (100, 360), (100, 400), (100, 0)], 1500)
    assert found == RateSpread(
        n=5,
        median=1200,
        interval=None,
        lower_quartile=1000,
        upper_quartile=1500,
        mean=1280,
        under_count=3,
        target=1500,
        cents=500,
        seconds=1500,
    )
    assert (found.shortfall_cents, found.under_target_percent, found.overall_cents_per_hour) == (
        300,
        60,
        1200,
    )
    assert rate_spread([(100, 0)], 1500) is None


@pytest.mark.parametrize(
    ("n", "ranks"),
    # Conover 1999, table A3, and Hahn & Meeker 1991, table A.15: two-sided 95 % for the median.
    [(1, None), (5, None), (6, (1, 6)), (8, (1, 8)), (9, (2, 8)), (10, (2, 9)), (15, (4, 12)), (20, (6, 15))],
)
def test_ranks_of_the_interval_for_a_median(n: int, ranks: tuple[int, int] | None) -> None:
    assert median_interval_ranks(n) == ranks


def test_exact_and_approximate_ranks_agree() -> None:
    low, high = median_interval_ranks(1_000) or (0, 0)
    after = median_interval_ranks(1_001) or (0, 0)
    assert abs(after[0] - low) <= 1
    assert low + high == 1_001
    assert sum(after) == 1_002


def test_median_interval_has_95_percent_coverage() -> None:
    generator = random.Random(4)
    held = 0
    for _ in range(2_000):
        times = sorted(generator.lognormvariate(0, 1) for _ in range(21))  # its median is 1
        low, high = median_interval_ranks(21) or (1, 1)
        held += times[low - 1] <= 1 <= times[high - 1]
    assert held / 2_000 >= 0.945


def test_quantiles() -> None:
    assert [quantile([1, 2, 3, 4], share) for share in (0, 0.25, 0.5, 1)] == [1, 1.75, 2.5, 4]
    assert quantile([7], 0.75) == 7
    assert [lower_quantile([1, 2, 3, 4], share) for share in (0.5, 0.75, 1)] == [2, 3, 4]
    with pytest.raises(ValueError, match="at least one value"):
        quantile([], 0.5)


def slow_spread(work: list[tuple[int, float]], target: int) -> dict[str, Any]:
    """Say the same in fractions, one submission after the other."""
    rates = [Fraction(cents) * HOUR_SECONDS / Fraction(seconds) for cents, seconds in work]
    return {
        "median": float(plain_median(rates)),
        "mean": float(sum(rates) / len(rates)),
        "under": sum(rate < target for rate in rates),
        "needed": [max(0, -(-(Fraction(s) * target) // HOUR_SECONDS) - c) for c, s in work],
    }


def test_rate_spread_matches_a_slow_model() -> None:
    generator = random.Random(6)
    for _ in range(200):
        work = [
            (generator.randint(1, 300), generator.choice([generator.uniform(1, 900), 300.0, 240.0]))
            for _ in range(generator.randint(1, 40))
        ]
        target = generator.randint(100, 3_000)
        found, slow = rate_spread(work, target), slow_spread(work, target)
        assert found is not None
        assert abs(found.median - slow["median"]) <= 1
        assert abs(found.mean - slow["mean"]) <= 1
        assert found.under_count == slow["under"]
        gaps = [gap_cents(cents, seconds, target) for cents, seconds in work]
        assert gaps == slow["needed"]
        assert sum(gap > 0 for gap in gaps) == found.under_count
        after = [(cents + gap, seconds) for (cents, seconds), gap in zip(work, gaps, strict=True)]
        assert not any(is_under_target(cents, seconds, target) for cents, seconds in after)
        # Not a cent too much: one less, and it would stay under.
        assert all(
            is_under_target(cents + gap - 1, seconds, target)
            for (cents, seconds), gap in zip(work, gaps, strict=True)
            if gap
        )


@pytest.fixture
def measured(project: Project, make_image: MakeImage) -> Batch:
    """Return a batch whose work took 200, 300 and 600 seconds for $1.00, the last with two bonuses of 10 cents."""
    market.fund()
    batch = published(
        project, [make_image(n) for n in range(3)], terms=LaunchTerms(reward_cents=100, bonus_cents=10)
    )
    works = [(200.0, 3, "wilma"), (300.0, 3, "wim"), (600.0, 5, "wanda")]
    for hit, (seconds, pairs, name) in zip(Hit.objects.order_by("pk"), works, strict=True):
        market.work(hit, market.market_worker(name), observations(pairs), active_seconds=seconds)
    collected(batch)
    return batch


@pytest.mark.django_db(transaction=True)
def test_rates_are_equal_before_and_after_a_decision(measured: Batch, project: Project) -> None:
    """Before it the answer says which bonuses are earned, after it the planned calls do."""
    expected = [1800, 1200, 720]  # 100 in 200 s, 100 in 300 s, 120 in 600 s
    assert pay.hourly_rates(pay.measured_work(measured)) == expected
    for row in collected(measured):
        approve(row)
    assert pay.hourly_rates(pay.measured_work(project)) == expected
    found = pay.project_pay(project)
    assert found.total is not None
    assert (found.total.median, found.total.under_count, found.total.n) == (1200, 2, 3)
    assert [line.spread.median for line in found.by_worker] == [720, 1200, 1800], "the lowest comes first"
    assert [line.label for line in found.by_batch] == [measured.name]


@pytest.mark.django_db(transaction=True)
def test_rejected_work_is_not_measured(measured: Batch) -> None:
    slowest = collected(measured)[-1]
    decision = review.decide_assignment(
        assignment=slowest, verdict=review.ReviewVerdict.REJECT, by=None, feedback="Empty."
    )
    assert len(pay.measured_work(measured)) == 3, "decided, and not carried out yet"
    review.settle_decision(decision=decision, marketplace=marketplace())
    assert pay.hourly_rates(pay.measured_work(measured)) == [1800, 1200]


@pytest.mark.django_db(transaction=True)
def test_pay_card_is_cached_until_something_changes(measured: Batch, monkeypatch: pytest.MonkeyPatch) -> None:
    fresh = pay_card.pay_card(measured)
    monkeypatch.setattr(pay_card, "MIN_CACHED_SUBMISSIONS", 3)

    def asked() -> int:
        with CaptureQueriesContext(connection) as captured:
            found = pay_card.pay_card(measured)
        assert found == pay_card._compute_pay_card(measured), "never an old one"
        return len(captured)

    assert fresh == pay_card.pay_card(measured)
    assert asked() == 2
    first, second, third = collected(measured)
    approve(first)
    assert asked() > 2, "one is paid"
    assert asked() == 2
    decision = review.decide_assignment(
        assignment=second, verdict=review.ReviewVerdict.REJECT, by=None, feedback="Empty."
    )
    review.settle_decision(decision=decision, marketplace=marketplace())
    assert asked() > 2, "one is rejected"
    approve(third)
    assert asked() > 2
    assert pay_card.pay_card(measured).top_up.submission_count == 1
    top_up_service.top_up_batch(batch=measured, by=None, marketplace=marketplace())
    assert asked() > 2, "a top-up is on its way"
    assert pay_card.pay_card(measured).top_up.submission_count == 0
    Project.objects.update(target_cents_per_hour=1)
    measured.refresh_from_db()
    assert asked() > 2, "another target"


@pytest.mark.django_db(transaction=True)
def test_pay_page_queries_are_independent_of_batches(
    measured: Batch, project: Project, make_image: MakeImage
) -> None:
    def queries() -> int:
        with CaptureQueriesContext(connection) as captured:
            pay.project_pay(project)
        return len(captured)

    before = queries()
    more = published(project, [make_image(9)], terms=LaunchTerms(reward_cents=100, bonus_cents=10))
    market.work(
        Hit.objects.latest("pk"), market.market_worker("willow"), observations(4), active_seconds=90.0
    )
    collected(more)
    assert queries() == before <= 7


@pytest.mark.django_db(transaction=True)
def test_the_page_and_its_csv(measured: Batch, project: Project, client: Client, researcher: User) -> None:
    Batch.objects.filter(pk=measured.pk).update(name="=cmd()")
    client.force_login(researcher)
    page = client.get(reverse("project-pay", args=[project.slug]))
    words = " ".join(page.content.decode().split())
    assert "2 <small>of 3</small>" in words, "a share with its whole"
    assert "1 of 1 under target" in words, "of the batches"
    assert "$3.00 under" in words
    assert not any(worker.worker_id in words for worker in Worker.objects.all())
    rows = list(
        csv.DictReader(
            io.StringIO(client.get(reverse("project-pay-csv", args=[project.slug])).content.decode())
        )
    )
    assert [(row["group"], row["median_usd_per_hour"]) for row in rows] == [
        ("batch", "12.00"),
        ("kind", "12.00"),
        ("worker", "7.20"),
        ("worker", "12.00"),
        ("worker", "18.00"),
    ]
    assert rows[0]["name"] == "'=cmd()", "no spreadsheet takes it for a formula"
    none = client.get(reverse("project-pay", args=[project.slug]), {"kind": "no_such_kind"})
    assert "No measured work of this kind yet" in none.content.decode()


@pytest.mark.django_db
def test_pay_page_of_an_empty_project(project: Project, client: Client, researcher: User) -> None:
    client.force_login(researcher)
    page = client.get(reverse("project-pay", args=[project.slug]))
    assert "No measured work yet" in page.content.decode()
