"""Quality checks: they are recorded with the launch, and look like other units to workers."""

import json
import re
from typing import Any

import pytest
from django.conf import settings
from django.test import Client
from django.urls import reverse

from hits.domain.states import UnitScope
from hits.marketplace.models import HIT
from hits.models import AuditEvent, Batch, Hit, Job, Unit
from hits.mturk.boto import marketplace
from hits.services.batches.extensions import estimate_extension
from hits.services.collecting import submit
from hits.services.collecting.page_keys import PageKey
from hits.services.errors import Conflict, Refused
from hits.services.launching.terms import LaunchTerms
from hits.services.publishing.publish import publish_batch
from tests.support.judging.work import Work, ratings, review
from tests.support.market import fund
from tests.support.proof import SECRET
from validation.domain.judging.quality_check_types import (
    CheckRates,
    CheckRole,
)
from validation.domain.judging.round_material import CandidateToRate, SetToJudge
from validation.domain.judging.sampling import Selection
from validation.models import GoldItem, JudgingRound, QualityCheck
from validation.selectors.quality import quality_check_results
from validation.selectors.ratings import read_judgments
from validation.services import quality_checks
from validation.services.judging import RoundPlan, launch_comparison, launch_review

REVIEW, LIKERT = "observation_review", "likert_comparison"
HIT_HOST = settings.HIT_ORIGIN.removeprefix("http://")


def make_gold(work: Work, worker: str = "GOLDAUTHOR") -> GoldItem:
    row = work.observed(work.image(50), worker=worker)[0]
    batch, _ = launch_review(project=work.project, observations=[row], by=None)
    return quality_checks.add_gold_item(unit=batch.units.get(), expected={"reasonable": ["highly"]}, by=None)


@pytest.mark.django_db
def test_launch_records_its_checks_once(work: Work) -> None:
    item = make_gold(work)
    rows = [row for n in range(4) for row in work.observed(work.image(n), worker=f"W{n}")]
    rates = RoundPlan(rates=CheckRates(gold=10, attention=10, repeat=10))
    batch, _ = launch_review(
        project=work.project, observations=rows, by=None, plan=rates, idempotency_key="x"
    )
    again, _ = launch_review(
        project=work.project, observations=rows, by=None, plan=rates, idempotency_key="x"
    )
    assert again == batch
    found = {row.role: row for row in QualityCheck.objects.filter(unit__batch=batch).select_related("unit")}
    assert QualityCheck.objects.count() == 6  # two of each, and the roles are three
    assert set(found) == {"gold", "attention", "repeat"}
    assert (found["gold"].gold_item, found["gold"].expected) == (item, {"reasonable": ["highly"]})
    assert found["repeat"].original is not None
    assert found["repeat"].unit.payload == found["repeat"].original.payload
    assert (found["attention"].gold_item, found["repeat"].expected) == (None, {})
    keys = set(batch.units.values_list("key", flat=True))
    assert len(keys) == 18
    assert item.key not in keys
    pairs = {row.instance_id for row in rows}
    assert sum(key in pairs for key in keys) == 12


@pytest.mark.django_db
def test_repeated_launch_returns_its_batch_after_gold_changed(work: Work) -> None:
    item = make_gold(work)
    rows = work.observed(work.image(1), worker="A")
    launch: dict[str, Any] = {
        "observations": rows,
        "plan": RoundPlan(rates=CheckRates(gold=5)),
        "idempotency_key": "one request",
    }
    batch, job = launch_review(project=work.project, by=None, **launch)
    quality_checks.set_gold_item_active(gold=item, is_active=False, by=None)
    type(work.image(1)).objects.filter(pk=rows[0].image_id).update(taken_down_at="2026-11-20T10:00Z")
    assert launch_review(project=work.project, by=None, **launch) == (batch, job)


@pytest.mark.django_db
@pytest.mark.parametrize("step", ["record", "round"])
def test_a_launch_that_fails_midway_leaves_nothing(
    work: Work, monkeypatch: pytest.MonkeyPatch, step: str
) -> None:
    rows = [row for n in range(2) for row in work.observed(work.image(n), worker=f"W{n}")]

    def counts() -> list[int]:
        tables = (Batch, Unit, Hit, QualityCheck, JudgingRound, Job, AuditEvent)
        return [table.objects.count() for table in tables]

    before = counts()

    def fail(*_: Any, **__: Any) -> Any:
        raise RuntimeError("the machine stopped")

    if step == "record":
        monkeypatch.setattr(quality_checks, "record_quality_checks", fail)
    else:
        monkeypatch.setattr(JudgingRound.objects, "get_or_create", fail)
    with pytest.raises(RuntimeError, match="stopped"):
        launch_review(
            project=work.project, observations=rows, by=None, plan=RoundPlan(rates=CheckRates(repeat=20))
        )
    assert counts() == before


@pytest.mark.django_db
def test_rounds_with_one_seed_share_no_check_key(work: Work) -> None:
    """A worker does a key once in a project: of two rounds with the same keys the second one's would be refused."""
    rows = [row for n in range(4) for row in work.observed(work.image(n), worker=f"W{n}")]
    plan = RoundPlan(Selection(seed=7), rates=CheckRates(attention=50, repeat=50))
    keys = []
    for half in (rows[:6], rows[6:]):
        batch, _ = launch_review(project=work.project, observations=half, by=None, plan=plan)
        keys.append(set(batch.units.exclude(quality_check=None).values_list("key", flat=True)))
    assert [len(found) for found in keys] == [6, 6]
    assert not keys[0] & keys[1]


@pytest.mark.django_db
def test_a_set_as_gold_is_kept_from_its_own_author_and_from_all_candidates(work: Work) -> None:
    writers = [work.observed(work.image(n), worker=f"W{n}")[0] for n in range(3)]
    own = writers[2]  # whose author came last, and whose pair is none of the candidates

    def a_round(name: str, plan: RoundPlan) -> Batch:
        texts = [CandidateToRate(row.instance_id, row.inference) for row in writers[:2]]
        comparison_set = SetToJudge(name, own.instance_id, own.image_id, own.boxes, texts)
        return launch_comparison(project=work.project, sets=[comparison_set], by=None, plan=plan)[0]

    candidate = writers[0].instance_id
    quality_checks.add_gold_item(
        unit=a_round("first", RoundPlan()).units.get(), expected={candidate: [1]}, by=None
    )
    other = work.observed(work.image(9), worker="W9")[0]
    later = SetToJudge(
        "later",
        other.instance_id,
        other.image_id,
        other.boxes,
        [CandidateToRate("x", "Somebody left."), CandidateToRate("y", "It rained.")],
    )
    batch, _ = launch_comparison(
        project=work.project, sets=[later], by=None, plan=RoundPlan(rates=CheckRates(gold=1))
    )
    unit = batch.units.exclude(quality_check=None).get()
    barred = set(unit.excluded_workers.values_list("pk", flat=True))
    assert barred == {row.submission.attempt.worker_id for row in writers}


@pytest.mark.django_db
def test_check_excludes_the_author_of_its_content(work: Work) -> None:
    item = make_gold(work)
    rows = [row for n in range(4) for row in work.observed(work.image(n), worker=f"W{n}")]
    batch, _ = launch_review(
        project=work.project, observations=rows, by=None, plan=RoundPlan(rates=CheckRates(10, 50, 50))
    )
    by_id = {row.instance_id: row.submission.attempt.worker_id for row in rows}
    for row in QualityCheck.objects.filter(unit__batch=batch).select_related("unit", "original"):
        barred = set(row.unit.excluded_workers.values_list("pk", flat=True))
        if row.role == CheckRole.GOLD:
            assert barred == {item.author_id}
        elif row.role == CheckRole.REPEAT:
            assert barred == {by_id[row.original.key]}
        else:
            hosts = {by_id[r.instance_id] for r in rows if r.image_id == row.unit.payload["image"]}
            assert barred == {by_id[row.original.key]} | hosts


@pytest.mark.django_db
def test_gold_on_a_photo_that_was_taken_down_is_left_out(work: Work) -> None:
    item = make_gold(work)
    rows = work.observed(work.image(1), worker="A")
    type(work.image(1)).objects.filter(pk=item.payload["image"]).update(taken_down_at="2026-11-20T10:00Z")
    with pytest.raises(Refused, match="no active gold item"):
        launch_review(
            project=work.project, observations=rows, by=None, plan=RoundPlan(rates=CheckRates(gold=5))
        )
    assert Batch.objects.filter(kind=REVIEW).count() == 1


@pytest.mark.django_db
def test_gold_is_added_once_and_only_with_an_answer(work: Work) -> None:
    item = make_gold(work)
    unit = Unit.objects.get(batch__kind=REVIEW)
    assert item.payload == unit.payload
    assert re.fullmatch(r"[0-9a-f]{32}", item.key)
    assert item.key != unit.key
    assert (item.author, AuditEvent.objects.filter(action="gold.add").count()) == (
        unit.excluded_workers.get(),
        1,
    )
    for expected, words in (
        ({}, "tick the right answers"),
        ({"reasonable": ["highly", "relatively", "un"]}, "not all of its answers"),
        ({"reasonable": ["maybe"]}, "maybe is not an answer about reasonable"),
        ({"colour": ["red"]}, "colour is not a question of this task"),
    ):
        with pytest.raises(Refused, match=words):
            quality_checks.add_gold_item(unit=unit, expected=expected, by=None)
    with pytest.raises(Conflict, match="already"):
        quality_checks.add_gold_item(unit=unit, expected={"boxes": ["mostly"]}, by=None)
    with pytest.raises(Refused, match="401 characters"):
        quality_checks.change_gold_item(gold=item, expected={"boxes": ["mostly"]}, note="x" * 401, by=None)
    quality_checks.change_gold_item(gold=item, expected={"boxes": ["mostly"]}, note=" sure ", by=None)
    item.refresh_from_db()
    assert (item.expected, item.note) == ({"boxes": ["mostly"]}, "sure")
    assert quality_checks.set_gold_item_active(gold=item, is_active=False, by=None)
    assert not quality_checks.set_gold_item_active(gold=item, is_active=False, by=None)
    rows = work.observed(work.image(1), worker="A")
    with pytest.raises(Refused, match="no active gold item"):
        launch_review(
            project=work.project, observations=rows, by=None, plan=RoundPlan(rates=CheckRates(gold=5))
        )


@pytest.mark.django_db
def test_check_answers_are_compared_and_repeats_use_the_first_answer(work: Work) -> None:
    make_gold(work)
    rows = [row for n in range(2) for row in work.observed(work.image(n), worker=f"W{n}")]
    batch, _ = launch_review(
        project=work.project, observations=rows, by=None, plan=RoundPlan(rates=CheckRates(20, 20, 20))
    )
    work.publish(batch)
    for hit in Hit.objects.filter(unit__batch=batch, unit__quality_check=None):
        work.answered(hit, "JUDGE", review("highly", "appropriate", "very"))
    for hit in Hit.objects.filter(unit__quality_check__isnull=False).select_related("unit__quality_check"):
        label = "relatively" if hit.unit.quality_check.role == CheckRole.REPEAT else "highly"
        work.answered(hit, "JUDGE", review(label, "appropriate", "very"))
        work.answered(hit, "OTHER", review("un", "entirely_off", "very"))
    found = quality_check_results(work.project, REVIEW)
    got = {
        worker: {
            role: [(a.match.correct, a.match.total) for a in answers if a.role is role] for role in CheckRole
        }
        for worker, answers in found.items()
    }
    judge, other = sorted(got)
    assert got[judge] == {
        CheckRole.GOLD: [(1, 1)] * 2,
        CheckRole.ATTENTION: [(0, 2)] * 2,
        CheckRole.REPEAT: [(2, 3)] * 2,
    }
    # OTHER did none of the originals, so their repeats have nothing to be compared with.
    assert got[other] == {
        CheckRole.GOLD: [(0, 1)] * 2,
        CheckRole.ATTENTION: [(2, 2)] * 2,
        CheckRole.REPEAT: [],
    }
    rows = list(read_judgments(project=work.project, kind=REVIEW, workers=[other], roles=tuple(CheckRole)))
    assert {row.worker for row in rows} == {other}
    assert [row.assignment for row in rows if row.role is not CheckRole.REPEAT] == [
        answer.assignment for answer in found[other]
    ]


@pytest.mark.django_db
def test_worker_gets_a_repeat_once_and_extension_includes_checks(work: Work) -> None:
    rows = [row for n in range(2) for row in work.observed(work.image(n), worker=f"W{n}")]
    batch, _ = launch_review(
        project=work.project,
        observations=rows,
        by=None,
        plan=RoundPlan(rates=CheckRates(attention=20, repeat=20)),
        terms=LaunchTerms(redundancy=1),
    )
    assert batch.unit_scope == UnitScope.PROJECT
    work.publish(batch)
    units = batch.units.count()
    assert units == 10
    # Keys differ, so that one worker may do the original and its repeat.
    for hit in Hit.objects.filter(unit__batch=batch):
        work.answered(hit, "JUDGE", review())
    assert estimate_extension(batch, 2).assignments == 2 * units


# -- nobody can tell


def comparison(work: Work, plan: RoundPlan) -> Batch:
    mine = [work.observed(work.image(n), worker=f"W{n}", count=5) for n in range(4)]
    texts = [row for rows in mine for row in rows]
    sets = [
        SetToJudge(
            id=f"set-{n}",
            own_pair_id=rows[0].instance_id,
            image_id=rows[0].image_id,
            boxes=rows[0].boxes,
            candidates=[CandidateToRate(row.instance_id, row.inference) for row in texts[3 * n : 3 * n + 6]],
        )
        for n, rows in enumerate(mine)
    ]
    return launch_comparison(project=work.project, sets=sets, by=None, plan=plan)[0]


def review_round(work: Work, plan: RoundPlan) -> Batch:
    rows = [row for n in range(4) for row in work.observed(work.image(n), worker=f"W{n}")]
    return launch_review(project=work.project, observations=rows, by=None, plan=plan)[0]


def shape(value: Any) -> Any:
    """Return what a value is made of: keys and types, without what it says."""
    if isinstance(value, dict):
        return {key: shape(item) for key, item in value.items()}
    if isinstance(value, list):
        return [shape(value[0])] if value else []
    return type(value).__name__


@pytest.mark.django_db(transaction=True)
@pytest.mark.usefixtures("attempts_are_proven")
@pytest.mark.parametrize(("kind", "launch"), [(REVIEW, review_round), (LIKERT, comparison)])
def test_check_looks_like_other_units_to_workers(work: Work, kind: str, launch: Any) -> None:
    fund()
    if kind == REVIEW:
        make_gold(work)
    else:
        unit = comparison(work, RoundPlan()).units.order_by("pk")[0]
        first = unit.payload["candidates"][0]["id"]
        quality_checks.add_gold_item(unit=unit, expected={first: [1]}, by=None)
    batch = launch(work, RoundPlan(rates=CheckRates(gold=10, attention=25, repeat=25)))
    assert {row.role for row in QualityCheck.objects.filter(unit__batch=batch)} == set(CheckRole)
    publish_batch(batch=batch, marketplace=marketplace())
    frame = Client(HTTP_HOST=HIT_HOST)
    seen: dict[bool, set[str]] = {True: set(), False: set()}
    for hit in Hit.objects.filter(unit__batch=batch).select_related("unit"):
        check = QualityCheck.objects.filter(unit=hit.unit).exists()
        key = PageKey(str(hit.unit.public_id), str(hit.hit_id), "3ASG", "AWILMA")
        address = reverse("hit-page", args=[hit.unit.public_id])
        query = {
            "assignmentId": key.assignment_id,
            "hitId": key.hit_id,
            "workerId": key.worker_id,
            "turkSubmitTo": f"{settings.PUBLIC_URL}/a/{SECRET}",
        }
        submit.open_attempt(key)
        html = frame.get(address, query).content.decode()
        assert not re.search(r"\bgold\b|attention|\bcontrol_|is_control|repeat_of", html, re.IGNORECASE)
        assert hit.unit.key not in html
        found = re.search(r'<script[^>]*id="hit-config"[^>]*>(.*?)</script>', html, re.DOTALL)
        assert found is not None
        config = json.loads(found[1])
        assert not {"key", "expected", "observation", "set"} & set(config["unit"])
        remote = HIT.objects.get(hit_id=hit.hit_id)
        shown = {
            "config": shape(config),
            "tags": re.findall(r"<(\w+)", html),
            "classes": re.sub(r"obs-\d", "obs-n", str(re.findall(r'class="([^"]*)"', html))),
            "attributes": re.findall(r'\s([\w-]+)="', html.replace(found[1], "")),
            "pay": (config["pay"], config["usual_seconds"]),
            "hit": [getattr(remote, name) for name in ("hit_type_id", "max_assignments")],
            "annotation": re.sub(r"[0-9a-f-]{36}", "<id>", hit.annotation),
        }
        seen[check].add(json.dumps(shown, sort_keys=True, default=str))
    assert seen[True] == seen[False]
    assert len(seen[True]) == 1


@pytest.mark.django_db
def test_ratings_of_a_set_repeated_are_compared_statement_by_statement(work: Work) -> None:
    batch = comparison(work, RoundPlan(rates=CheckRates(repeat=25)))
    work.publish(batch)
    repeat = QualityCheck.objects.get()
    first, second = (Hit.objects.get(unit=unit) for unit in (repeat.original, repeat.unit))
    work.answered(first, "J", ratings(first, 1, 2, 3))
    work.answered(second, "J", ratings(second, 1, 2, 1))
    ((answer,),) = quality_check_results(work.project, LIKERT).values()
    assert (answer.match.correct, answer.match.total) == (4, 6)
    assert answer.original_assignment is not None
