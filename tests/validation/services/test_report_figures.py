"""Every figure of a report, computed once more from the raw answers by other means."""

import json
import re
from collections import defaultdict
from collections.abc import Callable, Mapping
from itertools import permutations
from typing import Any

import krippendorff
import numpy as np
import pytest
from django.contrib.auth.models import User
from django.test import Client
from django.urls import reverse
from statsmodels.stats.proportion import proportion_confint

from curation.models import Pair
from hits.domain.states import AssignmentStatus
from hits.models import Assignment, Batch, Hit, Image, Project
from tests.support.answers import observations
from tests.support.judging.many_judgments import Crowd, fill
from tests.support.judging.work import Work, review
from tests.support.pages import squeezed
from tests.validation.domain.agreement.test_box_agreement import Boxes, direct_alpha
from validation.models import JudgingReport
from validation.services.judging import launch_review
from validation.services.report import compute_report

pytestmark = pytest.mark.django_db(transaction=True)
REVIEW, LIKERT = "observation_review", "likert_comparison"
SCALES = {
    "reasonable": (["un", "relatively", "highly"], {1, 2}),
    "boxes": (["entirely_off", "mostly", "appropriate"], {1, 2}),
    "interesting": (["not_at_all", "caption_like", "interesting", "very"], {2, 3}),
}
HOUR = 3600


def not_rejected(kind: str) -> list[Assignment]:
    rows = Assignment.objects.filter(hit__unit__batch__kind=kind).exclude(status=AssignmentStatus.REJECTED)
    return list(rows.order_by("submitted_at", "pk").select_related("submission", "hit__unit__batch"))


@pytest.fixture
def reviewed(project: Project, make_image: Callable[..., Image]) -> JudgingReport:
    """Return the report on 40 pairs of one to four judges, every third answer rejected at random."""
    fill(project, [make_image(1)], Crowd(items=40, redundancy=4, workers=9, seed=3))
    rng = np.random.default_rng(3)
    ids = list(Assignment.objects.filter(hit__unit__batch__kind=REVIEW).values_list("pk", flat=True))
    gone = rng.choice(ids, len(ids) // 3, replace=False).tolist()
    Assignment.objects.filter(pk__in=gone).update(status=AssignmentStatus.REJECTED)
    return compute_report(project=project, kind=REVIEW)


def codes(name: str, batch: Batch | None = None) -> dict[str, list[int]]:
    found = defaultdict(list)
    for row in not_rejected(REVIEW):
        if batch is None or row.hit.unit.batch_id == batch.pk:
            found[row.hit.unit.key].append(SCALES[name][0].index(row.submission.answer[name]))
    return found


def share_of(items: Mapping[str, list[int]], positive: set[int]) -> dict[str, float]:
    """Return how many items more than half of their judges find good, of all, with Wilson's interval."""
    halves = [2 * sum(code in positive for code in given) - len(given) for given in items.values()]
    yes, of = sum(half > 0 for half in halves), len(items)
    low, high = proportion_confint(yes, of, method="wilson")
    return {
        "count": yes,
        "of": of,
        "undecided": halves.count(0),
        "percent": 100 * yes / of,
        "low": 100 * low,
        "high": 100 * high,
    }


def alpha_of(items: Mapping[str, list[int]], scale: list[str], level: str) -> float:
    domain = list(range(len(scale)))
    counts = np.array([[given.count(code) for code in domain] for given in items.values()])
    return float(krippendorff.alpha(value_counts=counts, value_domain=domain, level_of_measurement=level))


@pytest.mark.parametrize("name", SCALES)
def test_a_dimension(reviewed: JudgingReport, name: str) -> None:
    scale, positive = SCALES[name]
    items = codes(name)
    found = reviewed.figures["dimensions"][name]
    flat = [code for given in items.values() for code in given]
    assert found["labels"] == [[word, flat.count(code)] for code, word in enumerate(scale)]

    assert found["share"]["undecided"]
    assert {key: found["share"][key] for key in share_of(items, positive)} == pytest.approx(
        share_of(items, positive)
    )

    for level in ("nominal", "ordinal", "interval"):
        row = found["coefficients"][f"alpha_{level}"]
        assert row["value"] == pytest.approx(alpha_of(items, scale, level), abs=1e-9)
        assert row["low"] < row["value"] < row["high"]
        assert row["ratings"] == sum(len(given) for given in items.values() if len(given) > 1)
    several = {key: list(permutations(given, 2)) for key, given in items.items() if len(given) > 1}
    alike = np.mean([np.mean([a == b for a, b in pairs]) for pairs in several.values()])
    assert found["coefficients"]["percent"]["value"] == pytest.approx(alike)
    assert found["coefficients"]["percent"]["items"] == len(several)
    counts = np.array([[given.count(code) for code in range(len(scale))] for given in items.values()])
    chance = (np.mean(counts / counts.sum(axis=1, keepdims=True), axis=0) ** 2).sum()
    assert found["coefficients"]["fleiss"]["value"] == pytest.approx((alike - chance) / (1 - chance))


@pytest.mark.parametrize("name", SCALES)
def test_confusion_and_hardest_items(reviewed: JudgingReport, name: str) -> None:
    found = reviewed.figures["dimensions"][name]
    items = {key: given for key, given in codes(name).items() if len(given) > 1}
    confusion = np.zeros((len(SCALES[name][0]),) * 2)
    for given in items.values():
        for a, b in permutations(given, 2):
            confusion[a, b] += 1 / (len(given) - 1)
    assert found["confusion"] == pytest.approx(confusion)
    totals = confusion.sum(axis=0)
    ranks = np.cumsum(totals) - totals / 2
    apart = (ranks[:, None] - ranks) ** 2
    chance = totals @ apart @ totals / (totals.sum() * (totals.sum() - 1))
    each = {
        key: np.mean([apart[pair] for pair in permutations(given, 2)]) / chance
        for key, given in items.items()
    }
    hardest = [(row["item"], row["disagreement"]) for row in found["hardest"]]
    assert [value for _, value in hardest] == pytest.approx(sorted(each.values(), reverse=True)[:6])
    assert all(each[key] == pytest.approx(value) for key, value in hardest)
    for cell, key in found["examples"].items():
        low, high = map(int, cell.split(","))
        assert items[key].count(low) > (low == high)
        assert high in items[key]


def test_time_and_pay(reviewed: JudgingReport) -> None:
    rows = [(row.hit.unit.batch.reward_cents, row.submission.active_seconds) for row in not_rejected(REVIEW)]
    seconds = [took for _, took in rows]
    rates = [cents * HOUR / took for cents, took in rows]
    time = reviewed.figures["time"]
    assert (time["n"], time["median"], time["mean"]) == pytest.approx(
        (len(rows), np.median(seconds), np.mean(seconds))
    )
    assert (time["lower"], time["upper"]) == pytest.approx(np.quantile(seconds, [0.25, 0.75]))
    pay = time["pay"]
    overall = sum(cents for cents, _ in rows) * HOUR / sum(seconds)
    assert (pay["median"], pay["mean"], pay["overall"]) == pytest.approx(
        (np.median(rates), np.mean(rates), overall), abs=1
    )
    assert pay["under"] == sum(rate < pay["target"] for rate in rates)
    [batch] = reviewed.figures["batches"]
    assert (batch["judgments"], batch["median_seconds"]) == (len(rows), pytest.approx(np.median(seconds)))
    assert batch["cents_per_hour"] == pay["median"]
    json.dumps(reviewed.figures, allow_nan=False)


def test_each_round_has_figures_of_its_own(project: Project, make_image: Callable[..., Image]) -> None:
    crowds = [
        Crowd(items=30, redundancy=3, workers=7, seed=5),
        Crowd(items=22, redundancy=4, workers=9, seed=6),
    ]
    batches = [fill(project, [make_image(1)], crowd) for crowd in crowds]
    rows = compute_report(project=project, kind=REVIEW).figures["batches"]
    assert [row["batch"] for row in rows] == [batch.pk for batch in batches]
    assert [(row["judgments"], row["items"]) for row in rows] == [(90, 30), (88, 22)]
    for name, (scale, positive) in SCALES.items():
        for batch, row in zip(batches, rows, strict=True):
            own, found = codes(name, batch), row["dimensions"][name]
            share = share_of(own, positive)
            assert {key: found["share"][key] for key in share} == pytest.approx(share, abs=1e-9, rel=0)
            assert found["alpha_ordinal"] == pytest.approx(alpha_of(own, scale, "ordinal"), abs=1e-9)
            # Neither those of the other round nor those of both would do.
            assert found["alpha_ordinal"] != pytest.approx(alpha_of(codes(name), scale, "ordinal"), abs=1e-3)


def draw(work: Work, image: Image, author: str, rng: np.random.Generator) -> tuple[list[Pair], Boxes]:
    """Let somebody mark three pairs with one or two boxes each, at random; return the pairs and all boxes."""
    answer, every = observations(salt=author), []
    for pair in answer["observations"]:
        pair["boxes"] = []
        for _ in range(rng.integers(1, 3)):
            left, top = int(rng.integers(image.width - 8)), int(rng.integers(image.height - 8))
            wide, high = int(rng.integers(4, 9)), int(rng.integers(4, 9))
            pair["boxes"].append({"left": left, "top": top, "width": wide, "height": high})
            every.append((left, top, wide, high))
    return work.observed(image, worker=author, answer=answer), every


def test_box_agreement_of_two_authors(
    client: Client, work: Work, make_image: Callable[..., Image], researcher: User
) -> None:
    rng = np.random.default_rng(8)
    rows = []
    # The second photo is half as large, so that each of its pixels is two by two of the first one's; nobody else
    # looked at the third, which must not count.
    for photo, (scale, authors) in enumerate([(1, "AB"), (2, "AB"), (1, "C")]):
        image = make_image(photo, width=64 // scale, height=48 // scale)
        for author in authors:
            pairs, boxes = draw(work, image, f"AUTHOR{author}", rng)
            cells = frozenset(
                (x, y)
                for left, top, wide, high in boxes
                for x in range(left * scale, (left + wide) * scale)
                for y in range(top * scale, (top + high) * scale)
            )
            rows.append((f"photo {photo}", author, cells))
    batch, _ = launch_review(project=work.project, observations=pairs[:1], by=None)
    work.publish(batch)
    work.answered(Hit.objects.get(unit__batch=batch), "JUDGE", review())
    found = compute_report(project=work.project, kind=REVIEW).figures["boxes"]
    expected = direct_alpha(rows)
    assert expected is not None
    assert found["alpha"] == pytest.approx(expected, abs=1e-9, rel=0)
    assert (found["units"], found["regions"], found["raters"]) == (2, 4, 2)
    client.force_login(researcher)
    page = squeezed(client.get(reverse("judging-report", args=[work.project.slug])))
    line = re.search(r'IoU-α of the marked areas</dt><dd class="num">(−?)(\d?\.\d{3}) \(95% interval', page)
    assert line is not None
    assert float(line[2]) * (-1 if line[1] else 1) == pytest.approx(expected, abs=5.1e-4)


def test_each_worker(reviewed: JudgingReport) -> None:
    rows = not_rejected(REVIEW)
    for person in reviewed.workers.all():
        mine = [row for row in rows if row.worker_id == person.worker_id]
        same = [
            row.submission.answer[name] == other.submission.answer[name]
            for row in mine
            for other in rows
            if other.hit_id == row.hit_id and other.worker_id != row.worker_id
            for name in SCALES
        ]
        assert person.figures["agreement"] == [sum(same), len(same)]
        assert person.figures["judgments"] == len(mine)
        seconds = [row.submission.active_seconds for row in mine]
        assert person.figures["median_seconds"] == pytest.approx(np.median(seconds))
        json.dumps(person.figures, allow_nan=False)


def test_pairwise_accuracy(project: Project, make_image: Callable[..., Image]) -> None:
    fill(project, [make_image(1)], Crowd(items=25, redundancy=2, workers=6, seed=4, kind=LIKERT))
    report = compute_report(project=project, kind=LIKERT)
    sets: dict[str, list[dict[str, int]]] = defaultdict(list)
    for row in not_rejected(LIKERT):
        sets[row.hit.unit.key].append(
            {one["candidate"]: one["rating"] for one in row.submission.answer["ratings"]}
        )
    values = [(ordered(a, b) + ordered(b, a)) / 2 for a, b in sets.values()]
    assert report.figures["pairwise"]["value"] == pytest.approx(100 * np.mean(values), abs=1e-9)
    assert report.figures["pairwise"]["accuracy"] == pytest.approx(50 + 50 * np.mean(values), abs=1e-9)
    assert (report.figures["pairwise"]["sets"], report.figures["pairwise"]["pairs"]) == (25, 50)
    every = [value for given in sets.values() for row in given for value in row.values()]
    assert report.figures["dimensions"]["rating"]["mean"] == pytest.approx(np.mean(every))


def ordered(truth: Mapping[str, int], ranking: Mapping[str, int]) -> float:
    """Compare two people's order of candidates, -1 to 1, with the published noise on the ranking."""
    noise: Any = np.random.RandomState(1).random_sample(10) / 1e9
    ranked = {name: ranking[name] + noise[at] for at, name in enumerate(truth)}
    right = [
        (truth[a] > truth[b]) == (ranked[a] > ranked[b])
        for at, a in enumerate(truth)
        for b in list(truth)[at + 1 :]
        if truth[a] != truth[b]
    ]
    return 2 * float(np.mean(right)) - 1 if right else 0.0
