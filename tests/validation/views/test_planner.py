"""The planner: the sample size compared with brute force, and the page with its cost."""

import math
import re
from itertools import pairwise
from typing import Any

import pytest
from django.contrib.auth.models import User
from django.test import Client
from django.urls import reverse
from hypothesis import assume, given
from hypothesis import strategies as st

from hits.models import Project
from tests.support.judging.work import Work
from tests.support.pages import squeezed
from validation.domain.reports.planner import (
    PlanError,
    PrecisionTarget,
    expected_interval_width,
    find_sample_size,
    width_curve,
    wilson_interval,
)
from validation.models import JudgingReport
from validation.views.planner import width_chart

Z = 1.959963984540054


def wilson(n: int, p: float) -> float:
    """Return the width as Wilson has it: the two roots of (p - x)² = z² x (1 - x) / n."""
    a, b, c = 1 + Z * Z / n, -(2 * p + Z * Z / n), p * p
    return math.sqrt(b * b - 4 * a * c) / a


@given(n=st.integers(1, 5_000), p=st.floats(0, 1))
def test_interval_is_where_the_score_test_does_not_reject(n: int, p: float) -> None:
    found = wilson_interval(n, p)
    assert found.width == pytest.approx(wilson(n, p), abs=1e-9)
    assert found.low - 1e-12 <= p <= found.high + 1e-12
    for end in (found.low, found.high):
        if 0 < end < 1:
            assert abs(p - end) == pytest.approx(Z * math.sqrt(end * (1 - end) / n), abs=1e-6)


def test_interval_matches_published_examples() -> None:
    # Newcombe 1998, Statistics in Medicine 17(8), table I, method 3.
    for count, n, low, high in ((81, 263, 0.2553, 0.3662), (15, 148, 0.0624, 0.1605), (0, 20, 0.0, 0.1611)):
        found = wilson_interval(n, count / n)
        assert (found.low, found.high) == (pytest.approx(low, abs=5e-5), pytest.approx(high, abs=5e-5))


@given(width=st.floats(0.03, 0.95), rate=st.floats(0, 1), population=st.none() | st.integers(1, 3_000))
def test_sample_size_is_the_smallest_with_target_width(
    width: float, rate: float, population: int | None
) -> None:
    target = PrecisionTarget(width, rate, population)
    planned = find_sample_size(target)
    first = next(n for n in range(1, 5_000) if wilson_interval(n, rate, population=population).width <= width)
    assert planned.items == first
    assert planned.interval.width <= width
    assert planned.is_census == (planned.items == population)


@given(rate=st.floats(0, 1), population=st.integers(2, 500))
def test_finite_population_narrows_the_interval_to_zero(rate: float, population: int) -> None:
    widths = [wilson_interval(n, rate, population=population).width for n in range(1, population + 1)]
    assert all(a > b for a, b in pairwise(widths))
    assert widths[-1] == 0
    for n in (1, population // 2, population - 1):
        assume(n >= 1)
        assert widths[n - 1] <= wilson_interval(n, rate).width + 1e-12


def test_finite_population_correction_by_hand() -> None:
    # 100 of 199: (199 - 100)/(199 - 1) is a half, so 100 count like 200 of an infinite population.
    assert wilson_interval(100, 0.9, population=199) == wilson_interval(200, 0.9)


@pytest.mark.parametrize(
    ("values", "field"),
    [
        ({"width": 0}, "width"),
        ({"width": 1}, "width"),
        ({"width": math.nan}, "width"),
        ({"rate": -0.1}, "rate"),
        ({"rate": math.inf}, "rate"),
        ({"population": 0}, "population"),
        ({"level": 1.0}, "level"),
    ],
)
def test_invalid_target_names_its_field(values: dict[str, float], field: str) -> None:
    with pytest.raises(PlanError) as error:
        PrecisionTarget(**({"width": 0.05, "rate": 0.9} | values))  # type: ignore[arg-type]
    assert error.value.field == field


def test_unreachable_width_is_refused() -> None:
    with pytest.raises(PlanError, match="Even 10,000,000 items"):
        find_sample_size(PrecisionTarget(1e-5, 0.5))


@given(pilot=st.integers(1, 5_000), items=st.integers(1, 5_000), width=st.floats(0.01, 1))
def test_coefficient_width_falls_with_the_root_of_items(pilot: int, items: int, width: float) -> None:
    found = expected_interval_width(pilot_width=width, pilot_items=pilot, items=items)
    assert found == pytest.approx(width * math.sqrt(pilot / items))
    needed = math.ceil(pilot * (width / found) ** 2)
    assert abs(needed - items) <= 1


@given(width=st.floats(0.02, 0.9), rate=st.floats(0, 1), population=st.none() | st.integers(1, 3_000))
def test_width_curve_falls_and_the_chart_marks_the_planned_number(
    width: float, rate: float, population: int | None
) -> None:
    target = PrecisionTarget(width, rate, population)
    planned = find_sample_size(target)
    points = width_curve(target, planned)
    assert all(later <= earlier + 1e-9 for (_, earlier), (_, later) in pairwise(points))
    assert points[0][0] <= planned.items <= points[-1][0]
    chart = width_chart(target, planned)
    corners = [tuple(map(float, corner.split())) for corner in chart.curves[0].shape[1:].split("L")]
    assert all(0 <= x <= 1001 and 0 <= y <= chart.height for x, y in corners)
    assert chart.dots[0].name is not None
    assert f"{planned.items:,} pairs" in chart.dots[0].name.text
    assert chart.table is not None
    assert len(chart.table.rows) >= 1


def address(project: Project, **changes: object) -> str:
    values = {"width": 5, "rate": 97.5, "judges": 3, "reward": "0.40", "population": ""} | changes
    query = "&".join(f"{name}={value}" for name, value in values.items())
    return f"{reverse('planner', args=[project.slug])}?{query}"


@pytest.mark.django_db
def test_page_shows_the_plan_and_links_the_launch(client: Client, project: Project, researcher: User) -> None:
    client.force_login(researcher)
    page = squeezed(client.get(address(project)))
    items = find_sample_size(PrecisionTarget(0.05, 0.975)).items
    assert items == 176
    for text in ("176", "94.0 to 99.0%", "528", "$211.20", "13.2", "$16.00/h; target"):
        assert text in page, text
    link = re.search(r'href="([^"]+review/[^"]+)"', page)
    assert link is not None
    assert link[1].endswith("?how=sample&amp;n=176&amp;assignments=3&amp;reward=0.40")


@pytest.mark.django_db
@pytest.mark.parametrize(
    ("reward", "judges", "rewards", "fees", "total"),
    [
        # 176 pairs, 3 judges each: 528 judgments. 20% of 40 cents are 8.
        ("0.40", 3, "211.20", "42.24", "253.44"),
        # 20% of 13 cents are 2.6: each payment's fee is rounded to 3, so that 528 of them are more than 20% of all.
        ("0.13", 3, "68.64", "15.84", "84.48"),
        # No fee is under a cent.
        ("0.01", 3, "5.28", "5.28", "10.56"),
        # 12 judges are HITs of 9 and 3, none of which has the ten that cost 40%: 2,112 judgments at 40 and 8 cents.
        ("0.40", 12, "844.80", "168.96", "1013.76"),
    ],
)
def test_page_adds_marketplace_fees(
    client: Client,
    project: Project,
    researcher: User,
    settings: Any,
    reward: str,
    judges: int,
    rewards: str,
    fees: str,
    total: str,
) -> None:
    settings.MARKETPLACE_FEE_SCHEDULE = "amazon"
    client.force_login(researcher)
    page = squeezed(client.get(address(project, reward=reward, judges=judges)))
    assert f"<dt>Maximum cost</dt><dd>${float(total):,.2f}</dd>" in page
    assert f"Fees of ${fees} included" in page
    lines = re.findall(
        r"<tr[^>]*><td[^>]*>([^<\d][^<]*)</td>(?:<td[^>]*>[^<]*</td>)*<td[^>]*>([\d.]+)</td></tr>", page
    )
    assert lines == [
        (f"Rewards, 176 × {judges} workers", rewards),
        ("Fees on rewards", fees),
        ("Maximum cost, put on hold", total),
    ]


@pytest.mark.django_db
def test_initial_values_come_from_the_newest_report(client: Client, work: Work, researcher: User) -> None:
    work.observed(work.image(), worker="AUTHOR")
    JudgingReport.objects.create(
        project=work.project,
        kind="observation_review",
        data_sha256="0" * 64,
        judgments=1200,
        ratings=3600,
        figures={
            "dimensions": {
                "reasonable": {
                    "share": {"percent": 91.25},
                    "coefficients": {"alpha_ordinal": {"value": 0.5, "low": 0.4, "high": 0.6, "items": 400}},
                }
            }
        },
    )
    client.force_login(researcher)
    reply = client.get(reverse("planner", args=[work.project.slug]))
    assert reply.status_code == 200
    assert reply.context["form"]["rate"].value() == 91.2
    assert reply.context["form"]["population"].value() == 3
    assert reply.context["planned"].is_census
    assert reply.context["alphas"][0].width == pytest.approx(0.2 * math.sqrt(400 / 3))


@pytest.mark.django_db
@pytest.mark.parametrize(
    ("changes", "field", "message"),
    [
        ({"width": "wide"}, "width", "Enter a number"),
        ({"width": 0}, "width", "greater than or equal to 0.1"),
        ({"rate": 101}, "rate", "less than or equal to 100"),
        ({"judges": 0}, "judges", "greater than or equal to 1"),
        ({"reward": "0.001"}, "reward", "at most two decimals"),
        ({"population": "-4"}, "population", "greater than or equal to 1"),
        ({"width": "nan"}, "width", "Enter a number"),
    ],
)
def test_errors_are_shown_at_their_field(
    client: Client, project: Project, researcher: User, changes: dict[str, object], field: str, message: str
) -> None:
    client.force_login(researcher)
    reply = client.get(address(project, **changes))
    assert reply.status_code == 400
    assert message in str(reply.context["form"].errors[field])
    assert f'href="#id_{field}"' in reply.content.decode()
    assert "planned" not in reply.context
