"""One more judge about what is undecided: within judges, budget and cap, once, and never about checks."""

from collections.abc import Sequence

import pytest

from curation.models import Pair
from hits.models import Assignment, AuditEvent, Batch, Project
from hits.mturk.boto import marketplace
from hits.services.errors import Conflict, Refused
from hits.services.launching.launch import launch_batch
from hits.services.launching.terms import LaunchTerms
from tests.support import market
from tests.support.judging.asking import answer, unit
from tests.support.judging.work import Work
from validation.domain.decision_rules import DecisionRule, Method, default_rules
from validation.domain.judging.quality_check_types import CheckRole
from validation.models import JudgingRound, QualityCheck
from validation.registry import spec_of
from validation.selectors import follow_ups as selectors
from validation.selectors.follow_ups import is_round_complete, undecided_items_below_maximum
from validation.services import follow_ups as services
from validation.services.decisions import decide_items
from validation.services.follow_ups import (
    FollowUpPlan,
    launch_due_follow_ups,
    launch_follow_up,
    plan_follow_up,
    set_follow_up_limits,
)
from validation.services.judging import launch_review

DEFAULT_RULES = default_rules(spec_of("observation_review"))

pytestmark = pytest.mark.django_db(transaction=True)
REWARD = 40


def begin(
    work: Work, *, most: int = 4, budget: int = 10_000, checks: Sequence[str] = (), judges: int = 2
) -> tuple[JudgingRound, list[Pair]]:
    """Return a published round of three pairs and two judges each, without answers."""
    pairs = work.observed(work.image(), worker="AUTHOR")
    author = pairs[0].submission.attempt.worker
    units = [unit(pair, pair.instance_id, author) for pair in pairs]
    units += [unit(pairs[0], key, author) for key in checks]
    batch, _ = launch_batch(
        project=work.project,
        kind_name="observation_review",
        name="First",
        units=units,
        by=None,
        terms=LaunchTerms(redundancy=judges, reward_cents=REWARD),
    )
    rows = [row for row in batch.units.all() if row.key in checks]
    QualityCheck.objects.bulk_create(
        QualityCheck(unit=row, role=CheckRole.ATTENTION, expected={}) for row in rows
    )
    first = JudgingRound.objects.create(
        batch=batch,
        rules={name: rule.as_row() for name, rule in DEFAULT_RULES.items()},
        max_redundancy=most,
        ask_budget_cents=budget,
    )
    work.publish(batch)
    return first, pairs


def split(work: Work, first: JudgingRound, pairs: Sequence[Pair], *, undecided: int) -> None:
    """Let two judges differ about the first so many pairs, and agree about the others."""
    for n, pair in enumerate(pairs):
        answer(work, first.batch, pair.instance_id, J1="highly", J2="un" if n < undecided else "highly")


def followers(first: JudgingRound) -> list[JudgingRound]:
    return list(first.followers.order_by("pk"))


def test_follow_up_adds_a_judge_to_each_undecided_item(work: Work) -> None:
    market.fund()
    first, pairs = begin(work)
    split(work, first, pairs, undecided=2)
    assert launch_due_follow_ups(marketplace=marketplace()) == 1
    [follower] = followers(first)
    batch = follower.batch
    assert [row.key for row in batch.units.all()] == [pair.instance_id for pair in pairs[:2]]
    assert (batch.redundancy, batch.reward_cents, batch.name) == (1, REWARD, "First, follow-up 1")
    for row in batch.units.all():
        kept_from = {worker.worker_id for worker in row.excluded_workers.all()}
        assert kept_from == {"AUTHOR", "J1", "J2"}
    assert follower.rules == first.rules


def test_follow_up_uses_the_rules_of_the_newest_run(work: Work) -> None:
    market.fund()
    first, pairs = begin(work)
    split(work, first, pairs, undecided=0)
    strict = DecisionRule("reasonable", Method.K_OF_N, ("highly",), k=3, of=3)
    decide_items(project=work.project, kind="observation_review", rules={"reasonable": strict}, by=None)
    assert plan_follow_up(first).undecided == []
    set_follow_up_limits(
        judging_round=first, max_redundancy=4, ask_budget_cents=first.ask_budget_cents, by=None
    )
    first.refresh_from_db()
    assert first.rules["reasonable"] == strict.as_row()
    assert len(plan_follow_up(first).undecided) == len(pairs)
    later, _ = launch_review(project=work.project, observations=pairs, by=None)
    assert later.judging_round.rules["reasonable"] == strict.as_row()


def test_repeating_the_task_launches_nothing_twice(work: Work) -> None:
    market.fund()
    first, pairs = begin(work)
    split(work, first, pairs, undecided=1)
    asked = plan_follow_up(first)
    assert [launch_due_follow_ups(marketplace=marketplace()) for _ in range(3)] == [1, 0, 0]
    assert launch_follow_up(plan=asked, by=None) == followers(first)[0].batch
    assert len(followers(first)) == 1


def test_follow_up_waits_for_all_judgments_and_stops_when_decided(work: Work) -> None:
    market.fund()
    first, pairs = begin(work)
    split(work, first, pairs[:2], undecided=1)
    assert not is_round_complete(first)
    assert launch_due_follow_ups(marketplace=marketplace()) == 0
    with pytest.raises(Conflict, match="still missing"):
        plan_follow_up(first)
    answer(work, first.batch, pairs[2].instance_id, J1="highly", J2="highly")
    assert launch_due_follow_ups(marketplace=marketplace()) == 1
    [follower] = followers(first)
    assert launch_due_follow_ups(marketplace=marketplace()) == 0
    work.publish(follower.batch)
    answer(work, follower.batch, pairs[0].instance_id, J3="un")
    assert launch_due_follow_ups(marketplace=marketplace()) == 0
    assert len(followers(first)) == 1


def test_follow_ups_stop_at_max_redundancy(work: Work) -> None:
    market.fund()
    first, pairs = begin(work, most=3)
    rule = DecisionRule("reasonable", Method.K_OF_N, ("highly", "relatively"), k=2, of=4)
    JudgingRound.objects.filter(pk=first.pk).update(rules=first.rules | {"reasonable": rule.as_row()})
    split(work, first, pairs, undecided=1)
    assert launch_due_follow_ups(marketplace=marketplace()) == 1
    follower = followers(first)[0]
    work.publish(follower.batch)
    answer(work, follower.batch, pairs[0].instance_id, J3="un")
    # One of three: a fourth judge could still make it two of four, but three are the most.
    first = JudgingRound.objects.select_related("batch__project").get(pk=first.pk)
    assert is_round_complete(first)
    assert undecided_items_below_maximum(first) == []
    assert launch_due_follow_ups(marketplace=marketplace()) == 0
    first.max_redundancy = 4
    assert [row.judge_count for row in undecided_items_below_maximum(first)] == [3]


def test_follow_up_budget_is_exact_to_the_cent(work: Work) -> None:
    market.fund()
    first, pairs = begin(work, budget=2 * REWARD - 1)
    split(work, first, pairs, undecided=2)
    asked = plan_follow_up(first)
    assert (len(asked.undecided), len(asked.items)) == (2, 1)
    assert launch_due_follow_ups(marketplace=marketplace()) == 1
    [follower] = followers(first)
    assert follower.batch.units.count() == 1
    work.publish(follower.batch)
    answer(work, follower.batch, pairs[0].instance_id, J3="highly")
    assert launch_due_follow_ups(marketplace=marketplace()) == 0
    left = plan_follow_up(first)
    assert (len(left.undecided), left.budget_left_cents, left.items) == (1, REWARD - 1, [])
    with pytest.raises(Refused, match="no undecided item"):
        launch_follow_up(plan=left, by=None)


def test_spent_budget_refuses_the_follow_up(work: Work) -> None:
    market.fund()
    first, pairs = begin(work)
    split(work, first, pairs, undecided=1)
    asked = plan_follow_up(first)
    JudgingRound.objects.filter(pk=first.pk).update(ask_budget_cents=REWARD - 1)
    first.refresh_from_db()
    asked.round.refresh_from_db()
    with pytest.raises(Refused, match="exceeds the rest of the round’s budget"):
        launch_follow_up(plan=asked, by=None)
    assert not followers(first)


def test_parallel_plans_launch_one_follow_up(work: Work) -> None:
    market.fund()
    first, pairs = begin(work)
    split(work, first, pairs, undecided=2)
    early = plan_follow_up(first)
    other, _ = launch_batch(
        project=work.project,
        kind_name="observation_review",
        name="Beside",
        units=[unit(pairs[0], pairs[0].instance_id, pairs[0].submission.attempt.worker)],
        by=None,
        terms=LaunchTerms(redundancy=1, reward_cents=REWARD),
    )
    work.publish(other)
    answer(work, other, pairs[0].instance_id, J8="highly")  # decides it: the second plan is another one
    late = plan_follow_up(first)
    assert early.idempotency_key != late.idempotency_key
    launch_follow_up(plan=late, by=None)
    with pytest.raises(Conflict, match="another follow-up was just launched"):
        launch_follow_up(plan=early, by=None)
    assert len(followers(first)) == 1


def test_project_cap_is_exact_to_the_cent(work: Work) -> None:
    market.fund()
    first, pairs = begin(work)
    split(work, first, pairs, undecided=2)
    committed = sum(Batch.objects.values_list("estimate_cents", flat=True))
    Project.objects.update(budget_cap_cents=committed + REWARD - 1)
    assert plan_follow_up(first).available_cents == REWARD - 1
    assert launch_due_follow_ups(marketplace=marketplace()) == 0
    Project.objects.update(budget_cap_cents=committed + REWARD)
    assert launch_due_follow_ups(marketplace=marketplace()) == 1
    assert followers(first)[0].batch.units.count() == 1


def test_follow_up_above_the_confirmation_limit_is_not_automatic(work: Work) -> None:
    market.fund()
    first, pairs = begin(work)
    split(work, first, pairs, undecided=1)
    Project.objects.update(confirm_above_cents=REWARD - 1)
    first = JudgingRound.objects.select_related("batch__project").get(pk=first.pk)
    assert launch_due_follow_ups(marketplace=marketplace()) == 0
    asked = plan_follow_up(first)
    assert asked.confirmation is not None
    assert asked.confirmation.cents == REWARD
    with pytest.raises(Refused, match="type the maximum cost"):
        launch_follow_up(plan=asked, by=None)
    assert launch_follow_up(plan=asked, by=None, confirmed_cents=REWARD).units.count() == 1


def test_follow_up_without_funds_is_not_launched(work: Work) -> None:
    first, pairs = begin(work)
    split(work, first, pairs, undecided=1)
    assert launch_due_follow_ups(marketplace=marketplace()) == 0
    assert not followers(first)
    market.fund(REWARD)
    assert launch_due_follow_ups(marketplace=marketplace()) == 1


def looks(monkeypatch: pytest.MonkeyPatch) -> list[int]:
    """Note each time that the round's judgments are all read to find what is undecided."""
    seen: list[int] = []
    real = selectors._find_undecided_items

    def noted(first: JudgingRound) -> list[selectors.UndecidedItem]:
        seen.append(first.pk)
        return real(first)

    monkeypatch.setattr(selectors, "_find_undecided_items", noted)
    return seen


def test_refused_follow_up_is_retried_only_after_funds_change(
    work: Work, monkeypatch: pytest.MonkeyPatch
) -> None:
    first, pairs = begin(work)
    split(work, first, pairs, undecided=1)
    tried: list[int] = []

    def noted(one: JudgingRound) -> FollowUpPlan:
        tried.append(one.pk)
        return plan_follow_up(one)

    monkeypatch.setattr(services, "plan_follow_up", noted)
    assert [launch_due_follow_ups(marketplace=marketplace()) for _ in range(3)] == [0, 0, 0]
    assert tried == [first.pk]
    market.fund(REWARD)
    assert launch_due_follow_ups(marketplace=marketplace()) == 1
    assert tried == [first.pk] * 2


def test_unchanged_round_does_not_read_judgments_again(work: Work, monkeypatch: pytest.MonkeyPatch) -> None:
    market.fund()
    first, pairs = begin(work)
    split(work, first, pairs, undecided=0)
    seen = looks(monkeypatch)
    assert [launch_due_follow_ups(marketplace=marketplace()) for _ in range(3)] == [0, 0, 0]
    assert plan_follow_up(first).undecided == []
    assert len(seen) == 1
    first.rules["reasonable"] = DecisionRule("reasonable", Method.K_OF_N, ("highly",), k=3, of=3).as_row()
    first.save()
    assert len(plan_follow_up(first).undecided) == len(pairs)
    assert len(seen) == 2


def test_judgment_during_a_check_is_seen_by_the_next(work: Work, monkeypatch: pytest.MonkeyPatch) -> None:
    market.fund()
    first, pairs = begin(work)
    split(work, first, pairs, undecided=0)
    late = Assignment.objects.filter(hit__unit__key=pairs[0].instance_id).latest("pk")

    def superseded(one: JudgingRound) -> FollowUpPlan:
        found = plan_follow_up(one)
        Assignment.objects.filter(pk=late.pk).update(status="Rejected")
        return found

    monkeypatch.setattr(services, "plan_follow_up", superseded)
    assert launch_due_follow_ups(marketplace=marketplace()) == 0
    monkeypatch.setattr(services, "plan_follow_up", plan_follow_up)
    seen = looks(monkeypatch)
    launch_due_follow_ups(marketplace=marketplace())
    assert seen == [first.pk]


def test_quality_checks_get_no_follow_up(work: Work) -> None:
    market.fund()
    first, pairs = begin(work, checks=["control-1"])
    split(work, first, pairs, undecided=0)
    answer(work, first.batch, "control-1", J1="highly", J2="un")
    assert undecided_items_below_maximum(first) == []
    assert launch_due_follow_ups(marketplace=marketplace()) == 0

    again, others = begin(work, checks=["control-2"])
    split(work, again, others, undecided=1)
    assert is_round_complete(again)
    assert launch_due_follow_ups(marketplace=marketplace()) == 1
    assert [row.key for row in followers(again)[0].batch.units.all()] == [others[0].instance_id]


def test_a_pair_that_is_no_longer_accepted_is_left_out(work: Work) -> None:
    market.fund()
    first, pairs = begin(work)
    split(work, first, pairs, undecided=1)
    pairs[0].submission.assignment.status = "Rejected"
    pairs[0].submission.assignment.save()
    assert undecided_items_below_maximum(first) == []


def test_invalid_follow_up_limits_are_refused(work: Work) -> None:
    first, _ = begin(work, most=0, budget=0)
    with pytest.raises(Refused, match="has no follow-ups"):
        plan_follow_up(first)
    with pytest.raises(Refused, match="use 3 to 100"):
        set_follow_up_limits(judging_round=first, max_redundancy=2, ask_budget_cents=100, by=None)
    with pytest.raises(Refused, match="use an amount from 0"):
        set_follow_up_limits(judging_round=first, max_redundancy=3, ask_budget_cents=-1, by=None)
    for _ in range(2):
        set_follow_up_limits(judging_round=first, max_redundancy=3, ask_budget_cents=100, by=None)
    first.refresh_from_db()
    assert (first.max_redundancy, first.ask_budget_cents) == (3, 100)
    assert AuditEvent.objects.filter(action="judging.ask_limits").count() == 1
