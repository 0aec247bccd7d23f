"""``manage.py launch_review``: the selections, one JSON object, and one line with status 2 on bad input."""

import json
from collections.abc import Callable
from io import StringIO
from typing import Any

import pytest
from django.core.management import CommandError, call_command

from curation.models import Pair
from hits.models import Assignment, Batch, Image, Project
from tests.support import loop, market
from validation.models import JudgingRound, QualityCheck

pytestmark = pytest.mark.django_db(transaction=True)


@pytest.fixture
def pairs(project: Project, make_image: Callable[..., Image]) -> list[Pair]:
    """Return six approved pairs of two workers, from the marketplace."""
    market.fund()
    batch = loop.published(project, [make_image(1), make_image(2)])
    for hit, name in zip(batch.units.all(), ("wilma", "walt"), strict=True):
        market.work(hit.hits.get(), market.market_worker(name))
    for assignment in loop.collected(batch):
        loop.approve(assignment)
    assert Assignment.objects.filter(status="Approved").count() == 2
    return list(Pair.objects.order_by("pk"))


def launch(project: Project, *flags: str) -> dict[str, Any]:
    out = StringIO()
    call_command("launch_review", "--project", project.slug, "--json", *flags, stdout=out)
    found: dict[str, Any] = json.loads(out.getvalue())
    return found


def test_sample_is_published_and_its_seed_printed(project: Project, pairs: list[Pair]) -> None:
    result = launch(project, "--sample", "4", "--seed", "11", "--reward-cents", "45", "--redundancy", "2")
    assert (result["pairs"], result["of"], result["hits"], result["assignments"]) == (4, 6, 4, 8)
    assert result["selection"]["seed"] == 11
    assert result["estimate_cents"] == 4 * 2 * 45
    assert result["state"] == "live"
    assert JudgingRound.objects.get(batch=result["batch"]).selection == result["selection"]
    rest = launch(project)
    assert (rest["pairs"], rest["of"], rest["selection"]["how"]) == (2, 2, "all")


def test_pairs_of_one_author_are_launched(project: Project, pairs: list[Pair]) -> None:
    author = pairs[0].submission.attempt.worker
    result = launch(project, "--worker", f"W-{author.pk}")
    assert result["pairs"] == 3
    keys = set(Batch.objects.get(pk=result["batch"]).units.values_list("key", flat=True))
    assert keys == {pair.instance_id for pair in pairs if pair.submission.attempt.worker == author}


def test_strata_with_quality_checks(project: Project, pairs: list[Pair]) -> None:
    result = launch(project, "--stratify", "worker", "--each", "2", "--seed", "1", "--repeat", "50")
    assert (result["pairs"], result["hits"]) == (4, 6)
    assert QualityCheck.objects.filter(unit__batch=result["batch"]).count() == 2


@pytest.mark.parametrize(
    ("flags", "message"),
    [
        (["--sample", "0"], "n: use at least 1 pair"),
        (["--worker", "wilma"], "--worker wilma: write it as on the pages, such as W-12"),
        (["--worker", "W-999999"], "matches none of 6 pairs"),
        (["--stratify", "worker"], "--stratify: use --each N"),
        (["--each", "4"], "--each and --total require --stratify"),
        (["--gold", "60"], "--gold: use 0 to 50 percent of the round"),
        (["--gold", "5"], "gold"),
        (["--redundancy", "101"], "workers per item: use 1 to 100"),
        (["--max-redundancy", "5"], "--max-redundancy and --ask-budget-cents: give both or neither"),
        (
            ["--max-redundancy", "3", "--ask-budget-cents", "80"],
            "workers per item: the maximum has to be above 3",
        ),
        (["--seed", "-1"], "seed: use 0 to"),
    ],
)
def test_invalid_input_is_one_line_with_status_two(
    project: Project, pairs: list[Pair], flags: list[str], message: str
) -> None:
    with pytest.raises(CommandError, match=message) as caught:
        launch(project, *flags)
    assert caught.value.returncode == 2
    assert "\n" not in str(caught.value)
    assert not Batch.objects.filter(kind="observation_review").exists()
