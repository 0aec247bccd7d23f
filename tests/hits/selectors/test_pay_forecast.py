"""What a launch will pay, told from a pilot: worked out by hand, and read from rows."""

import random
from collections.abc import Callable

import pytest
from django.db import connection
from django.template.loader import render_to_string
from django.test.utils import CaptureQueriesContext

from hits import registry
from hits.domain.money.pay import is_under_target
from hits.domain.money.pay_forecast import ForecastBasis, PayForecast, PayPlan, PaySample, forecast_pay
from hits.models import Assignment, Hit, Image, Project
from hits.selectors.money.pay_forecast import forecast_launch_pay
from tests.support import market
from tests.support.answers import observations
from tests.support.loop import collected, published

MakeImage = Callable[..., Image]
PLAN = PayPlan(reward_cents=100, bonus_cents=0, assignments=40, target_cents_per_hour=1500)


def pilot(*seconds: float) -> list[PaySample]:
    return [PaySample(value) for value in seconds]


def test_forecast_worked_example() -> None:
    """At $15 an hour 200, 240, 300, 360 and 400 seconds ask for 84, 100, 125, 150 and 167 cents."""
    found = forecast_pay(samples=pilot(300, 200, 400, 240, 360), batches=2, expected_seconds=999, plan=PLAN)
    assert found == PayForecast(
        basis=ForecastBasis.MEASURED,
        n=5,
        batches=2,
        median_seconds=300,
        interval=None,
        rate_cents=1200,
        under_count=3,
        reward_for_half=125,
        reward_for_three_quarters=150,
        seconds=300 * 40,
        plan=PLAN,
    )
    assert (found.shortfall_cents, found.hours) == (300, 300 * 40 / 3600)
    assert PLAN.reward_cents < found.reward_for_half, "so less than half of the work reaches the target"


def test_forecast_of_four_samples_uses_expected_time() -> None:
    found = forecast_pay(samples=pilot(1, 1, 1, 1, 0), batches=1, expected_seconds=301, plan=PLAN)
    assert (found.basis, found.n, found.median_seconds) == (ForecastBasis.EXPECTED, 4, 301)
    assert found.reward_for_half == 126, "125.4 cents, rounded up so that it reaches the target"
    assert found.rate_cents == 1196


def test_forecast_counts_earned_bonuses() -> None:
    plan = PayPlan(reward_cents=100, bonus_cents=15, assignments=1, target_cents_per_hour=1500)
    samples = [PaySample(300, bonus_items=items) for items in (0, 1, 2, 2, 2, 2)]
    found = forecast_pay(samples=samples, batches=1, expected_seconds=300, plan=plan)
    assert found.rate_cents == 1560, "130 cents in 300 seconds"
    assert (found.reward_for_half, found.reward_for_three_quarters, found.under_count) == (95, 110, 2)
    assert found.interval == (300, 300)


def test_forecast_rewards_reach_the_target() -> None:
    generator = random.Random(8)
    for _ in range(200):
        samples = [
            PaySample(generator.uniform(20, 900), generator.randint(0, 2))
            for _ in range(generator.randint(5, 60))
        ]
        plan = PayPlan(50, generator.randint(0, 20), 10, generator.randint(200, 2_500))
        found = forecast_pay(samples=samples, batches=1, expected_seconds=300, plan=plan)

        def reached(reward: int, samples: list[PaySample] = samples, plan: PayPlan = plan) -> float:
            pays = [(reward + plan.bonus_cents * row.bonus_items, row.active_seconds) for row in samples]
            return sum(not is_under_target(*pay, plan.target_cents_per_hour) for pay in pays) / len(pays)

        assert reached(found.reward_for_half) >= 0.5
        assert reached(found.reward_for_three_quarters) >= 0.75
        assert found.reward_for_half == 1 or reached(found.reward_for_half - 1) < 0.5
        assert found.reward_for_three_quarters == 1 or reached(found.reward_for_three_quarters - 1) < 0.75


@pytest.mark.django_db(transaction=True)
def test_forecast_uses_confirmed_work_of_kind_and_project(
    project: Project, rehearsal: Project, make_image: MakeImage
) -> None:
    market.fund()
    kind = registry.get_kind("sherlock_observation")
    for number in range(2):
        batch = published(project, [make_image(3 * number + n) for n in range(3)])
        for hit in Hit.objects.filter(unit__batch=batch):
            worker = market.market_worker(f"w{hit.pk}")
            market.work(hit, worker, observations(4), active_seconds=200.0 + hit.pk)
        collected(batch)
    with CaptureQueriesContext(connection) as captured:
        found = forecast_launch_pay(project, kind, reward_cents=100, bonus_cents=15, redundancy=3, units=20)
    assert len(captured) == 1
    assert (found.basis, found.n, found.batches) == (ForecastBasis.MEASURED, 6, 2)
    assert found.plan.assignments == 60
    times = sorted(200.0 + pk for pk in Hit.objects.values_list("pk", flat=True))
    assert found.median_seconds == (times[2] + times[3]) / 2
    assert found.rate_cents == round((115 * 3600 / times[2] + 115 * 3600 / times[3]) / 2)
    page = render_to_string("hits/batches/_forecast.html", {"forecast": found, "project": project})
    assert "based on 6 submissions in 2 batches" in " ".join(page.split())
    Assignment.objects.filter(hit__unit__batch=batch).update(status="Rejected")
    fewer = forecast_launch_pay(project, kind, reward_cents=100, bonus_cents=15, redundancy=3, units=20)
    assert (fewer.basis, fewer.n) == (ForecastBasis.EXPECTED, 3)
    other_project = forecast_launch_pay(
        rehearsal, kind, reward_cents=100, bonus_cents=0, redundancy=1, units=1
    )
    assert (other_project.basis, other_project.n) == (ForecastBasis.EXPECTED, 0)
    page = render_to_string("hits/batches/_forecast.html", {"forecast": other_project, "project": rehearsal})
    assert "estimated; no measurements yet" in page
