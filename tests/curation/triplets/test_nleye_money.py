"""A run's sum is what its calls really cost, also above their bounds; nothing is reserved over the cap."""

from typing import Any

import pytest

from curation.models import ModelRun, RunPurpose
from curation.services.triplets.model_calls import (
    CallReply,
    CapReached,
    Failure,
    PlannedCall,
    RunPlan,
    create_run,
    fail_call,
    raise_cap,
    reserve_call,
    settle_call,
)
from hits.models import Project
from hits.services.errors import Refused
from tests.support.nleye_stored import nleye_project

pytestmark = pytest.mark.django_db


def start(project: Project, cap: int) -> ModelRun:
    """Store a run with a cap in micro-dollars."""
    plan = RunPlan(RunPurpose.EVALUATION, "openai:x", cap)
    return create_run(project=nleye_project(project), plan=plan, by=None)


def reserve(run: ModelRun, key: str, micro: int) -> Any:
    """Reserve a call."""
    return reserve_call(run=run, planned=PlannedCall(key, key, micro))


def true_sum(run: ModelRun) -> int:
    """Return what the calls of a run cost, or may cost."""
    calls = run.calls.values_list("reserved_micro", "cost_micro")
    return sum(reserved if cost is None else cost for reserved, cost in calls)


def test_what_one_call_costs_above_its_bound_is_not_given_back_by_another(project: Project) -> None:
    run = start(project, 100)
    first, second = reserve(run, "a", 50), reserve(run, "b", 50)
    settle_call(call=first, reply=CallReply(cost_micro=150))
    settle_call(call=second, reply=CallReply(cost_micro=10))
    run.refresh_from_db()
    assert run.committed_micro == true_sum(run) == 160
    with pytest.raises(CapReached, match=r"may cost \$0.000001, and \$0.000000 of"):
        reserve(run, "c", 1)
    assert run.calls.count() == 2


def test_a_raised_cap_is_compared_with_the_true_sum(project: Project) -> None:
    run = start(project, 100)
    settle_call(call=reserve(run, "a", 50), reply=CallReply(cost_micro=5000))
    with pytest.raises(Refused, match=r"\$0.005000 are spent or reserved already"):
        raise_cap(run=run, cap_micro=4999, by=None)
    raise_cap(run=run, cap_micro=5010, by=None)
    with pytest.raises(CapReached):
        reserve(run, "b", 11)
    fail_call(call=reserve(run, "b", 10), failure=Failure("busy", may_cost=False))
    reserve(run, "c", 10)
    run.refresh_from_db()
    assert run.committed_micro == true_sum(run) == run.cap_micro == 5010
