"""Attacks on access checks: other people's answers, concurrent decisions, two tabs, malformed JSON."""

import json
import logging
import threading
import uuid
from collections.abc import Callable, Iterator
from datetime import timedelta
from itertools import product
from typing import Any

import pytest
from django.conf import settings
from django.contrib.auth.models import User
from django.core.management import CommandError, call_command
from django.db import connection
from django.test import Client
from django.urls import reverse
from django.utils import timezone

from hits.domain.instructions import MAX_LINES, InstructionText
from hits.domain.states import BatchState, CallState, WorkerAction
from hits.domain.workers.qualification_pools import Pool
from hits.domain.workers.requirements import (
    COUNTRY_COMPARATORS,
    HOLDING_COMPARATORS,
    LIST_COMPARATORS,
    Comparator,
)
from hits.marketplace.errors import ActionRefused as MarketRefused
from hits.marketplace.models import Worker as MarketWorker
from hits.models import (
    Batch,
    BatchRequirement,
    Declaration,
    Demographics,
    Hit,
    Image,
    Project,
    Submission,
    Worker,
    WorkerCall,
    WorkerDecision,
)
from hits.mturk.boto import marketplace
from hits.mturk.port import Failure, MarketplaceError
from hits.selectors.eligibility.eligibility import declared_country
from hits.services import instructions
from hits.services.collecting import submit
from hits.services.collecting.page_keys import PageKey, issue_token
from hits.services.collecting.submit import NotEligible
from hits.services.errors import ContentTooLarge, Refused
from hits.services.launching.terms import Eligibility, LaunchTerms, PlannedRequirement
from hits.services.workers import qualifications
from hits.services.workers.qualifications import (
    CALL_TIMEOUT,
    decide_on_worker,
    settle_decision,
    settle_outstanding_decisions,
)
from tests.support.answers import observations
from tests.support.loop import page_key, published
from tests.support.market import accept, fund, list_holders, market_worker, submit_form
from tests.support.refusals import batch_refusals

pytestmark = pytest.mark.django_db(transaction=True)
MakeImage = Callable[..., Image]
HAS = PlannedRequirement(Pool.TRAINED, Comparator.EXISTS)
IN_US = PlannedRequirement(None, Comparator.IN, ("US", "CA"))


@pytest.fixture
def live(project: Project, make_image: MakeImage) -> Callable[..., Batch]:
    """Return a maker of live batches of two HITs."""
    fund()

    def make(*requirements: PlannedRequirement, photos: int = 2, **eligibility: Any) -> Batch:
        terms = LaunchTerms(redundancy=6, eligibility=Eligibility(requirements, **eligibility))
        return published(project, [make_image(n) for n in range(photos)], terms=terms)

    return make


def _hits(batch: Batch) -> list[Hit]:
    return list(Hit.objects.filter(unit__batch=batch).select_related("unit").order_by("pk"))


def _ours(worker: MarketWorker) -> Worker:
    return Worker.objects.get_or_create(environment="local", worker_id=worker.worker_id)[0]


def _key(hit: Hit, worker_id: str = "AWILMA", assignment: str = "3ASG") -> PageKey:
    return page_key(hit, assignment, worker_id)


def _post(key: PageKey, name: str, body: Any) -> Any:
    browser = Client(HTTP_HOST=settings.HIT_ORIGIN.removeprefix("http://"), raise_request_exception=False)
    return browser.post(
        reverse(f"hit-api-{name}"),
        data=body if isinstance(body, str) else json.dumps(body),
        content_type="application/json",
        headers={"Authorization": f"Bearer {issue_token(key)}"},
    )


def _decided(project: Project, worker: Worker, action: WorkerAction, pool: Pool | None) -> WorkerDecision:
    return decide_on_worker(project=project, worker=worker, action=action, pool=pool, reason="Why", by=None)


def _held_there(pool: Pool) -> set[str]:
    type_id = marketplace().find_qualification_type(f"street-scenes: {pool.value}")
    return set() if type_id is None else {worker_id for worker_id, _ in list_holders(marketplace(), type_id)}


def _run_concurrently(*steps: Callable[[], Any]) -> list[Any]:
    """Run the steps in threads of their own and return what each returned or raised."""
    results: list[Any] = [None] * len(steps)

    def run(place: int) -> None:
        try:
            results[place] = steps[place]()
        except Exception as error:
            results[place] = error
        finally:
            connection.close()

    threads = [threading.Thread(target=run, args=(place,)) for place in range(len(steps))]
    for thread in threads:
        thread.start()
    for thread in threads:
        thread.join(180)
    return results


# --- what one person can do to another


def test_country_change_cannot_bypass_condition(live: Callable[..., Batch]) -> None:
    (hit, _) = _hits(live(IN_US))
    key = _key(hit)
    assert _post(key, "consent", {"version": 1, "country": "FR"}).status_code == 403
    refused = _post(key, "consent", {"version": 1, "country": "US"})
    assert refused.status_code == 403
    assert "France" not in refused.text  # a request with another worker's id must not learn it
    other_tab = _key(hit, assignment="3OTHER")
    assert _post(other_tab, "consent", {"version": 1, "country": "US"}).status_code == 403
    worker = Worker.objects.get()
    assert declared_country(worker, hit.unit.batch.project) == "FR"
    sent = {"client_uuid": str(uuid.uuid4()), "answer": observations(), "active_seconds": 5}
    assert _post(key, "submission", sent).status_code == 403


def test_country_can_be_corrected_after_30_days(
    live: Callable[..., Batch], monkeypatch: pytest.MonkeyPatch
) -> None:
    (hit, _) = _hits(live())
    submit.record_consent(key=_key(hit), version=1, country="FR")
    later = timezone.now() + timedelta(days=31)
    monkeypatch.setattr(submit.timezone, "now", lambda: later)
    submit.record_consent(key=_key(hit), version=1, country="US")
    assert list(Declaration.objects.values_list("country", flat=True)) == ["FR", "US"]


def test_demographics_cannot_be_overwritten_with_worker_id_alone(
    live: Callable[..., Batch],
) -> None:
    (hit, second) = _hits(live())
    about = {"age": "25-34", "gender": "woman"}
    assert _post(_key(hit), "consent", {"version": 1, "country": "US", "about_me": about}).status_code == 200
    stranger = _key(second, assignment="3MADEUP")
    for lie in ({"age": "65+"}, {"gender": "man", "english": "good"}):
        reply = _post(stranger, "consent", {"version": 1, "country": "US", "about_me": lie})
        assert reply.json() == {}  # and the reply reveals nothing
    assert Demographics.objects.get().answers == about


@pytest.mark.parametrize("value", [[], {}, ["25-34"], {"a": 1}, 7, True, 1e308, "x" * 5000, "25-34 "])
@pytest.mark.parametrize("name", ["age", "nonsense"])
def test_invalid_demographics_are_refused(live: Callable[..., Batch], name: str, value: Any) -> None:
    (hit,) = _hits(live(photos=1))
    reply = _post(_key(hit), "consent", {"version": 1, "country": "US", "about_me": {name: value}})
    assert reply.status_code == 400
    assert not Demographics.objects.exists()
    assert not Declaration.objects.exists()


@pytest.mark.parametrize(
    "body",
    [
        '{"version": 1, "country": ["US"]}',
        '{"version": 1, "country": {"US": 1}}',
        '{"version": 1, "country": "U\\u0000"}',
        '{"version": 1, "country": "\\ud800S"}',
        '{"version": 1, "about_me": {"\\ud800": "x"}}',
        '{"version": 1e999}',
        '{"version": 99999999999999999999999}',
        '{"version": 1, "country": "ß"}',
        "[]",
        '"US"',
        "null",
        "[" * 5000 + "]" * 5000,
    ],
)
def test_malformed_consent_bodies_get_plain_errors(live: Callable[..., Batch], body: str) -> None:
    (hit,) = _hits(live(photos=1))
    assert _post(_key(hit), "consent", body).status_code in {400, 409}
    assert not Declaration.objects.exists()


def test_page_key_opens_only_its_task(live: Callable[..., Batch]) -> None:
    (one, other) = _hits(live())
    crossed = PageKey(str(one.unit.public_id), str(other.hit_id), "3ASG", "AWILMA")
    for name in ("open", "consent", "hints", "submission"):
        assert _post(crossed, name, {"version": 1, "country": "US"}).status_code == 401
    key = _key(one)
    submit.record_consent(key=key, version=1, country="US")
    submit.save_draft(key=key, content={"secret": "words"}, revision=0)
    for stranger in (_key(one, "AMALLORY"), _key(one, assignment="3OTHER")):
        assert "words" not in _post(stranger, "open", {}).text


def test_preview_does_not_reveal_refusal_reason(project: Project, live: Callable[..., Batch]) -> None:
    (hit, _) = _hits(live(HAS, IN_US))
    worker = Worker.objects.create(environment="local", worker_id="AWILMA")
    for action, pool in ((WorkerAction.GRANT, Pool.EXCLUDED), (WorkerAction.BLOCK, None)):
        decide_on_worker(
            project=project, worker=worker, action=action, pool=pool, reason="Copied text", by=None
        )
    browser = Client(HTTP_HOST=settings.HIT_ORIGIN.removeprefix("http://"))
    address = reverse("hit-page", args=[hit.unit.public_id])
    query = {"workerId": "AWILMA", "hitId": hit.hit_id, "assignmentId": "ASSIGNMENT_ID_NOT_AVAILABLE"}
    page = browser.get(address, query)
    assert page.status_code == 200
    assert "Copied text" not in page.text


# --- races


def test_concurrent_accepts_respect_limit(live: Callable[..., Batch]) -> None:
    hits = _hits(live(worker_limit=1))
    worker = market_worker()
    results = _run_concurrently(*[lambda hit=hit: accept(hit, worker) for hit in hits])
    assert sorted(isinstance(result, MarketRefused) for result in results) == [False, True], results
    assert worker.assignments.count() == 1


def test_task_in_hand_is_accepted_after_limit_is_lowered(live: Callable[..., Batch]) -> None:
    hits = _hits(live(worker_limit=2))
    worker = market_worker()
    keys = [_key(hit, worker.worker_id, accept(hit, worker).slot.assignment_id) for hit in hits]
    Batch.objects.update(worker_limit=1)  # both tasks are accepted by now and must be paid
    for key in keys:
        submit.record_consent(key=key, version=1, country="US")
        submit.store_submission(key=key, client_uuid=uuid.uuid4(), answer=observations(), active_seconds=5.0)
    assert Submission.objects.count() == 2


def test_later_decision_wins_over_one_in_preparation(
    project: Project, live: Callable[..., Batch], monkeypatch: pytest.MonkeyPatch
) -> None:
    live(HAS)
    worker = _ours(market_worker())
    grant = _decided(project, worker, WorkerAction.GRANT, Pool.TRAINED)
    real = qualifications.ensure_qualification_type

    def ensure_after_other_process(**facts: Any) -> str:
        monkeypatch.setattr(qualifications, "ensure_qualification_type", real)
        revoke = _decided(project, worker, WorkerAction.REVOKE, Pool.TRAINED)
        settle_decision(decision=revoke, marketplace=marketplace())
        return real(**facts)

    monkeypatch.setattr(qualifications, "ensure_qualification_type", ensure_after_other_process)
    settle_decision(decision=grant, marketplace=marketplace())
    settle_outstanding_decisions(marketplace=marketplace())
    assert _held_there(Pool.TRAINED) == set()
    assert set(WorkerCall.objects.values_list("state", flat=True)) == {CallState.DONE}


def test_decision_settled_by_two_processes_is_sent_once(
    project: Project, live: Callable[..., Batch], monkeypatch: pytest.MonkeyPatch
) -> None:
    live(HAS)
    worker = _ours(market_worker())
    grant = _decided(project, worker, WorkerAction.GRANT, Pool.TRAINED)
    calls: list[bool] = []
    real = qualifications._execute_call

    def slowly(*arguments: Any) -> None:
        calls.append(True)
        if len(calls) == 1:
            assert not settle_decision(decision=grant, marketplace=marketplace())  # the other process
        real(*arguments)

    monkeypatch.setattr(qualifications, "_execute_call", slowly)
    assert settle_decision(decision=grant, marketplace=marketplace())
    assert len(calls) == 1
    assert settle_decision(
        decision=grant, marketplace=marketplace()
    )  # and again later: nothing is left to do
    assert len(calls) == 1
    assert _held_there(Pool.TRAINED) == {worker.worker_id}


def test_call_in_flight_is_not_abandoned(project: Project, live: Callable[..., Batch]) -> None:
    live(HAS)
    worker = _ours(market_worker())
    grant = _decided(project, worker, WorkerAction.GRANT, Pool.TRAINED)
    revoke = _decided(project, worker, WorkerAction.REVOKE, Pool.TRAINED)
    calls = WorkerCall.objects.filter(decision=grant)
    calls.update(state=CallState.INTENT, attempt_at=timezone.now())
    assert settle_outstanding_decisions(marketplace=marketplace()) == 0  # the grant may arrive any moment
    assert grant.qualification is not None
    type_id = qualifications.ensure_qualification_type(
        qualification=grant.qualification, marketplace=marketplace()
    )
    marketplace().grant(type_id, worker.worker_id, 1)
    calls.update(attempt_at=timezone.now() - CALL_TIMEOUT)
    assert settle_outstanding_decisions(marketplace=marketplace()) == 2
    assert settle_decision(decision=revoke, marketplace=marketplace())
    assert _held_there(Pool.TRAINED) == set()


def test_concurrent_accepts_and_revocation_are_serialised(
    project: Project, live: Callable[..., Batch]
) -> None:
    batch = live(HAS, photos=4)
    worker = market_worker()
    settle_decision(
        decision=_decided(project, _ours(worker), WorkerAction.GRANT, Pool.TRAINED), marketplace=marketplace()
    )
    revoke = _decided(project, _ours(worker), WorkerAction.REVOKE, Pool.TRAINED)
    hits = _hits(batch)
    results = _run_concurrently(
        *[lambda hit=hit: accept(hit, worker) for hit in hits],
        lambda: settle_decision(decision=revoke, marketplace=marketplace()),
    )
    assert results[-1] is True
    assert all(isinstance(row, MarketRefused) or row.slot.worker == worker for row in results[:-1]), results
    assert not any(_accepts(hit, worker) for hit in hits)
    for task in (row for row in results[:-1] if not isinstance(row, MarketRefused)):
        key = _key(task.hit, worker.worker_id, task.slot.assignment_id)
        with pytest.raises(NotEligible, match="taken back"):  # never opened before: not begun
            submit.open_attempt(key)


def test_task_in_hand_can_be_submitted_after_revocation(project: Project, live: Callable[..., Batch]) -> None:
    batch = live(HAS, IN_US, worker_limit=1)
    hit = _hits(batch)[0]
    worker = market_worker()
    ours = _ours(worker)
    settle_decision(
        decision=_decided(project, ours, WorkerAction.GRANT, Pool.TRAINED), marketplace=marketplace()
    )
    task = accept(hit, worker)
    key = _key(hit, worker.worker_id, task.slot.assignment_id)
    submit.record_consent(key=key, version=1, country="US")
    decisions: list[tuple[WorkerAction, Pool | None]] = [
        (WorkerAction.REVOKE, Pool.TRAINED), (WorkerAction.GRANT, Pool.EXCLUDED), (WorkerAction.BLOCK, None)
    ]  # fmt: skip
    for action, pool in decisions:
        settle_decision(decision=_decided(project, ours, action, pool), marketplace=marketplace())
    Batch.objects.filter(pk=batch.pk).update(state=BatchState.CLOSING)
    submit.save_draft(key=key, content={"half": "done"}, revision=0)
    stored, _ = submit.store_submission(
        key=key, client_uuid=uuid.uuid4(), answer=observations(), active_seconds=5.0
    )
    submit_form(task, stored)
    (remote,) = marketplace().list_assignments(str(hit.hit_id))
    marketplace().approve(remote.assignment_id, "")


# --- the same answer here and on the marketplace


def _cases() -> Iterator[tuple[PlannedRequirement, int | None]]:
    for comparator, held in product(Comparator, (None, -3, 0, 1, 2)):
        values = (
            () if comparator in HOLDING_COMPARATORS else (0, 1) if comparator in LIST_COMPARATORS else (1,)
        )
        yield PlannedRequirement(Pool.TRAINED, comparator, values), held


def test_platform_and_marketplace_agree_on_every_comparator(
    project: Project, live: Callable[..., Batch]
) -> None:
    cases = list(_cases())
    batches = {condition: live(condition, photos=1) for condition, _ in cases}
    workers = {held: market_worker(f"w{held}") for held in (None, -3, 0, 1, 2)}
    for held, worker in workers.items():
        if held is not None:
            decision = decide_on_worker(
                project=project, worker=_ours(worker), action=WorkerAction.GRANT, pool=Pool.TRAINED,
                reason="Why", by=None, value=held,
            )  # fmt: skip
            assert settle_decision(decision=decision, marketplace=marketplace())
    for condition, held in cases:
        (hit,) = _hits(batches[condition])
        open_here = not batch_refusals(_ours(workers[held]), batches[condition])
        assert open_here == _accepts(hit, workers[held]), (condition, held)


@pytest.mark.parametrize("comparator", sorted(COUNTRY_COMPARATORS))
def test_platform_and_marketplace_agree_on_countries(
    project: Project, live: Callable[..., Batch], comparator: Comparator
) -> None:
    values = ("US", "DE") if comparator in LIST_COMPARATORS else ("US",)
    batch = live(PlannedRequirement(None, comparator, values), photos=1)
    (hit,) = _hits(batch)
    for country in ("US", "DE", "FR"):
        worker = market_worker(f"w{country}")
        MarketWorker.objects.filter(pk=worker.pk).update(country=country)
        worker.refresh_from_db()
        Declaration.objects.create(project=project, worker=_ours(worker), country=country)
        assert (not batch_refusals(_ours(worker), batch)) == _accepts(hit, worker), country


def _accepts(hit: Hit, worker: MarketWorker) -> bool:
    try:
        accept(hit, worker)
    except MarketRefused:
        return False
    return True


def test_soft_block_applies_to_batches_without_requirements(
    project: Project, live: Callable[..., Batch]
) -> None:
    batch = live()
    BatchRequirement.objects.filter(batch=batch).delete()
    worker = _ours(market_worker())
    assert batch_refusals(worker, batch) == []
    _decided(project, worker, WorkerAction.GRANT, Pool.EXCLUDED)
    (reason,) = batch_refusals(worker, batch)
    assert reason.startswith("You get no new tasks of this project. This was decided on ")
    assert reason.endswith(": Why")
    _decided(project, worker, WorkerAction.REVOKE, Pool.EXCLUDED)
    assert batch_refusals(worker, batch) == []


def test_eligibility_query_count_does_not_grow_with_history(
    project: Project, live: Callable[..., Batch], django_assert_max_num_queries: Callable[..., Any]
) -> None:
    batch = live(HAS, PlannedRequirement(Pool.QUALIFIED, Comparator.EXISTS), IN_US, worker_limit=3)
    worker = _ours(market_worker())
    for _ in range(10):
        for pool, action in product(Pool, (WorkerAction.GRANT, WorkerAction.REVOKE)):
            _decided(project, worker, action, pool)
    batch = Batch.objects.select_related("project").get(pk=batch.pk)
    with django_assert_max_num_queries(4):
        assert len(batch_refusals(worker, batch)) == 2


# --- words that must stay out


def test_worker_id_in_marketplace_error_reaches_neither_log_nor_page(
    project: Project, caplog: pytest.LogCaptureFixture
) -> None:
    worker = Worker.objects.create(environment="local", worker_id="A1NEVERSEEN")
    decision = _decided(project, worker, WorkerAction.BLOCK, None)
    with caplog.at_level(logging.DEBUG):
        settle_outstanding_decisions(marketplace=marketplace())
    call = WorkerCall.objects.get(decision=decision)
    assert call.state == CallState.REFUSED
    assert str(worker) in call.error
    assert "A1NEVERSEEN" not in call.error + caplog.text


def test_large_text_preview_is_bounded(project: Project, admin: User, client: Client) -> None:
    client.force_login(admin)
    address = reverse("instructions-preview", args=[project.slug, "sherlock_observation"])
    forms = {f"examples-{name}_FORMS": value for name, value in (("TOTAL", "1"), ("INITIAL", "0"))}
    huge = "*a_b `c " * 100_000
    page = client.post(
        address, forms | {"summary": "x", "body": "y", "examples-0-good": huge, "examples-0-weak": huge}
    )
    assert page.status_code == 200
    assert len(page.content) < 100_000


def test_dead_call_is_retried_after_its_time_limit(project: Project, live: Callable[..., Batch]) -> None:
    live(HAS)
    decision = _decided(project, _ours(market_worker()), WorkerAction.GRANT, Pool.TRAINED)
    calls = WorkerCall.objects.filter(decision=decision)
    calls.update(state=CallState.INTENT, attempt_at=timezone.now())
    assert not settle_decision(decision=decision, marketplace=marketplace())
    calls.update(attempt_at=timezone.now() - 2 * CALL_TIMEOUT)
    assert settle_decision(decision=decision, marketplace=marketplace())
    assert _held_there(Pool.TRAINED) == {decision.worker.worker_id}


def test_text_with_too_many_lines_is_refused_before_comparison(project: Project, admin: User) -> None:
    text = InstructionText("Look", "\n".join("ab"[number % 2] for number in range(MAX_LINES + 1)))
    with pytest.raises(ContentTooLarge, match="lines"):
        instructions.publish_instructions(
            project=project, kind_name="sherlock_observation", text=text, note="x", based_on=0, by=admin
        )


def test_postponed_call_is_repeated_at_once(
    project: Project, live: Callable[..., Batch], monkeypatch: pytest.MonkeyPatch
) -> None:
    live(HAS)
    decision = _decided(project, _ours(market_worker()), WorkerAction.GRANT, Pool.TRAINED)

    def busy(*arguments: object) -> None:
        raise MarketplaceError(Failure.THROTTLED, "slow down")

    with monkeypatch.context() as patch:
        patch.setattr(qualifications, "_execute_call", busy)
        with pytest.raises(Refused, match="slow down"):
            settle_decision(decision=decision, marketplace=marketplace())
    assert settle_decision(decision=decision, marketplace=marketplace())


def test_existing_qualification_name_on_account_is_reused(
    project: Project, live: Callable[..., Batch]
) -> None:
    known = marketplace().get_or_create_qualification_type("street-scenes: trained", "Made by hand")
    batch = live(HAS)
    worker = market_worker()
    marketplace().grant(known, worker.worker_id, 1)
    accept(_hits(batch)[0], worker)


def test_batch_of_another_marketplace_is_not_touched(
    project: Project, live: Callable[..., Batch], settings: Any
) -> None:
    batch = live(HAS)
    worker = _ours(market_worker())
    decision = _decided(project, worker, WorkerAction.GRANT, Pool.TRAINED)
    settings.MTURK_ENDPOINT = "aws-sandbox"
    there = marketplace()
    assert there.environment.name != batch.environment
    with pytest.raises(Refused, match="MTURK_ENDPOINT"):
        settle_decision(decision=decision, marketplace=there)
    assert settle_outstanding_decisions(marketplace=there) == 0
    assert WorkerCall.objects.get(decision=decision).state == CallState.PLANNED
    (hit, _) = _hits(batch)
    assert batch_refusals(worker, batch) == []  # the page answers by our own rows
    assert _post(_key(hit, worker.worker_id), "open", {}).status_code == 200


@pytest.mark.parametrize(
    "flags",
    [
        ["--worker-limit", "99999999999"],
        ["--worker-limit", "9" * 30],
        ["--worker-limit", "0"],
        ["--instructions", "9" * 30],
        ["--instructions", "-1"],
        ["--countries", "ß"],
        ["--countries", ",,"],
        ["--countries", "US;DROP"],
        ["--countries", "\x00"],
        ["--pool", "excluded"],
        ["--pool", ""],
        ["--name", "a\x00b"],
        ["--name", "\ud800"],
    ],
)
def test_odd_flags_of_launch_batch_are_bad_input(
    project: Project, make_image: MakeImage, flags: list[str]
) -> None:
    fund()
    make_image(1)
    with pytest.raises(CommandError) as error:
        call_command(
            "launch_batch", "sherlock_observation", "--project", project.slug, "--reward-cents", "10", *flags
        )
    assert error.value.returncode == 2
    assert not Batch.objects.exists()
