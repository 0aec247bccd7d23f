"""Kill the process at crash points, in process and over HTTP, and count the rows on both sides.

The child ends by ``os._exit`` between two steps; the marketplace's row must exist although the
requester's result does not, and a second run must make it whole without a duplicate.
"""

import json
import urllib.error
import urllib.parse
import urllib.request
import uuid
from collections.abc import Callable, Iterator
from typing import Any

import pytest
from django.conf import settings
from django.utils import timezone

from hits.domain.crashpoints import EXIT_STATUS
from hits.domain.states import CallState, HitState, ReviewVerdict, SubmissionMatch, WorkerAction
from hits.domain.workers.qualification_pools import Pool
from hits.marketplace.models import HIT, BonusPayment, Message
from hits.marketplace.models import Assignment as Slot
from hits.marketplace.models import Qualification as MarketQualification
from hits.models import Assignment, Hit, Image, Project, Submission, Worker, WorkerCall
from hits.mturk.boto import marketplace
from hits.mturk.environments import resolve_environment
from hits.payments import ledger
from hits.services.collecting.page_keys import issue_token
from hits.services.outbox import outbox
from hits.services.reviewing import review
from hits.services.workers.qualifications import CALL_TIMEOUT, decide_on_worker
from hits.services.workers.qualifications import settle_outstanding_decisions as settle_workers
from tests.support import children, market
from tests.support.answers import observations
from tests.support.failing import leases_run_out, publish_all, settle_all
from tests.support.loop import collected, launched, page_key, published

pytestmark = pytest.mark.django_db(transaction=True)
MakeImage = Callable[..., Image]


def qualify() -> None:
    """Carry out what was decided about workers; for a child process."""
    settle_workers(marketplace=marketplace())


@pytest.fixture(params=["in process", pytest.param("over HTTP", marks=pytest.mark.long)])
def endpoint(request: pytest.FixtureRequest, settings: Any) -> Iterator[None]:
    """Reach the marketplace in process, or through a real server; forks follow this process's settings."""
    if request.param == "in process":
        yield
        return
    with children.server(children.free_port()) as base:
        settings.MTURK_ENDPOINT = f"{base}/mturk/"
        assert resolve_environment(settings.MTURK_ENDPOINT).in_process is False
        settings.HIT_ORIGIN = base.replace("localhost", "127.0.0.1")
        yield


# Where the child dies, how many HITs the marketplace then has, and what the first row of ours says.
POINTS = [
    ("publish.before_intent", 0, HitState.PLANNED),
    ("publish.after_intent", 0, HitState.INTENT),
    ("publish.after_call", 1, HitState.INTENT),
    ("publish.after_result", 1, HitState.LIVE),
]


@pytest.mark.parametrize(("point", "on_marketplace", "state"), POINTS)
def test_killed_while_publishing_each_hit_exists_once(
    project: Project,
    make_image: MakeImage,
    endpoint: None,
    point: str,
    on_marketplace: int,
    state: str,
) -> None:
    market.fund()
    batch = launched(project, [make_image(n) for n in range(3)])
    assert children.forked(publish_all, crash_at=point) == EXIT_STATUS
    assert HIT.objects.count() == on_marketplace
    first = Hit.objects.order_by("pk").first()
    assert first is not None
    assert first.state == state
    assert (first.hit_id is not None) == (state == HitState.LIVE)
    leases_run_out()
    assert children.forked(publish_all) == 0
    assert HIT.objects.count() == 3
    assert set(Hit.objects.values_list("hit_id", flat=True)) == set(
        HIT.objects.values_list("hit_id", flat=True)
    )
    assert ledger.sum_entries(batch=batch).held == marketplace().get_balance().on_hold_cents == 330
    assert children.forked(publish_all) == 0
    assert HIT.objects.count() == 3


@pytest.mark.parametrize("point", ["settle.after_intent", "settle.after_call"])
@pytest.mark.parametrize("operation", ["approve", "bonus"])
def test_killed_while_paying_everything_is_paid_once(
    project: Project, make_image: MakeImage, endpoint: None, operation: str, point: str
) -> None:
    market.fund(10_000)
    batch = published(project, [make_image(1)])
    market.work(Hit.objects.get(), market.market_worker(), observations(5))
    (assignment,) = collected(batch)
    decision = review.decide_assignment(assignment=assignment, verdict=ReviewVerdict.APPROVE, by=None)
    if operation == "bonus":  # the reward is through, so the bonus is the call that dies
        assert outbox.settle_call(call=decision.calls.get(operation="approve"), marketplace=marketplace())
    assert children.forked(settle_all, crash_at=point) == EXIT_STATUS
    call = decision.calls.get(operation=operation)
    assert (call.state, call.done_at) == (CallState.INTENT, None)
    made = point == "settle.after_call"
    leases_run_out()
    assert (Slot.objects.get().state == "approved") == (made or operation == "bonus")
    assert BonusPayment.objects.count() == (made and operation == "bonus")
    for _ in range(2):
        assert children.forked(settle_all) == 0
    sums = ledger.sum_entries(batch=batch)
    assert (sums.reward, sums.bonus, sums.held) == (110, 30, 0)
    assert BonusPayment.objects.count() == 1
    assert marketplace().get_balance().available_cents == 10_000 - sums.spent


@pytest.mark.parametrize("point", ["qualify.after_intent", "qualify.after_call"])
def test_killed_while_granting_the_worker_holds_it_once(
    project: Project, make_image: MakeImage, endpoint: None, point: str
) -> None:
    market.fund()
    published(project, [make_image(1)])
    here = marketplace().environment.name
    worker = Worker.objects.create(environment=here, worker_id=market.market_worker().worker_id)
    decision = decide_on_worker(
        project=project, worker=worker, action=WorkerAction.GRANT, pool=Pool.TRAINED, reason="Ready.", by=None
    )
    assert children.forked(qualify, crash_at=point) == EXIT_STATUS
    assert WorkerCall.objects.get(decision=decision).state == CallState.INTENT
    made = point == "qualify.after_call"
    assert [row.value for row in MarketQualification.objects.all()] == [1] * made
    WorkerCall.objects.update(attempt_at=timezone.now() - CALL_TIMEOUT)  # nothing can be on its way any more
    assert children.forked(qualify) == 0
    assert WorkerCall.objects.get(decision=decision).state == CallState.DONE
    assert [row.value for row in MarketQualification.objects.all()] == [1]


@pytest.mark.parametrize("point", ["qualify.after_call", "qualify.after_notice"])
def test_killed_while_notifying_of_an_exclusion_the_worker_is_notified_and_excluded_once(
    project: Project, make_image: MakeImage, endpoint: None, point: str
) -> None:
    market.fund()
    published(project, [make_image(1)])
    here = marketplace().environment.name
    worker = Worker.objects.create(environment=here, worker_id=market.market_worker().worker_id)
    decision = decide_on_worker(
        project=project, worker=worker, action=WorkerAction.GRANT, pool=Pool.EXCLUDED, reason="Why.", by=None
    )
    assert children.forked(qualify, crash_at=point) == EXIT_STATUS
    notices = int(point == "qualify.after_notice")
    assert Message.objects.count() == notices
    WorkerCall.objects.update(attempt_at=timezone.now() - CALL_TIMEOUT)  # nothing can be on its way any more
    assert children.forked(qualify) == 0
    call = WorkerCall.objects.get(decision=decision)
    assert (call.state, call.error) == (CallState.DONE, "")
    assert [row.value for row in MarketQualification.objects.all()] == [1]
    assert Message.objects.count() == notices + 1  # the same words twice at worst, never none


def _post_json(url: str, token: str, body: dict[str, Any]) -> tuple[int, dict[str, Any]]:
    request = urllib.request.Request(
        url,
        data=json.dumps(body).encode(),
        headers={"Content-Type": "application/json", "Authorization": f"Bearer {token}"},
    )
    with urllib.request.urlopen(request, timeout=30) as reply:
        return reply.status, json.loads(reply.read())


def _post_form(url: str, fields: dict[str, str]) -> int:
    data = urllib.parse.urlencode(fields).encode()
    with urllib.request.urlopen(urllib.request.Request(url, data=data), timeout=30) as reply:
        return int(reply.status)


@pytest.mark.long
def test_killed_after_storing_over_http_the_answer_is_kept_and_the_retry_gets_its_id(
    project: Project, make_image: MakeImage
) -> None:
    market.fund()
    batch = published(project, [make_image(1)])
    hit = Hit.objects.get()
    task = market.accept(hit, market.market_worker())
    token = issue_token(page_key(hit, task.slot.assignment_id, task.worker.worker_id))
    body = {"client_uuid": str(uuid.uuid4()), "answer": observations(), "active_seconds": 60.0}
    with children.server(port := children.free_port(), DEERSTALKER_CRASH_AT="submit.after_store"):
        api = f"http://127.0.0.1:{port}/hit/api"
        _post_json(f"{api}/consent", token, {"version": 1, "country": "US"})
        with pytest.raises((urllib.error.URLError, ConnectionError)):
            _post_json(f"{api}/submission", token, body)
    stored = Submission.objects.get()
    assert Slot.objects.get().state == "pending"
    assert not collected(batch)
    with children.server(
        port := children.free_port(), DEERSTALKER_CRASH_AT="marketplace.submit.after_commit"
    ):
        status, reply = _post_json(f"http://127.0.0.1:{port}/hit/api/submission", token, body)
        assert (status, reply["submission_id"]) == (200, str(stored.pk))
        form = {"assignmentId": task.slot.assignment_id, "submission_id": reply["submission_id"]}
        form |= {"sha256": reply["sha256"], "schema_version": reply["schema_version"]}
        submit_url = f"http://localhost:{port}/a/{task.secret}/mturk/externalSubmit"
        with pytest.raises((urllib.error.URLError, ConnectionError)):
            _post_form(submit_url, form)
    assert Slot.objects.get().state == "submitted"
    with children.server(port := children.free_port()):
        assert _post_form(f"http://localhost:{port}/a/{task.secret}/mturk/externalSubmit", form) == 200
    (assignment,) = collected(batch)
    assert (assignment.match, assignment.submission_id) == (SubmissionMatch.MATCHED, stored.pk)
    assert (Submission.objects.count(), Assignment.objects.count()) == (1, 1)


STORE = """
import json, os, uuid
from hits.services.collecting import submit
from hits.services.collecting.page_keys import PageKey
key = PageKey(*json.loads(os.environ["KEY"]))
submit.record_consent(key=key, version=1, country="US")
row, new = submit.store_submission(
    key=key, client_uuid=uuid.UUID(os.environ["UUID"]), answer=json.loads(os.environ["ANSWER"]), active_seconds=60.0
)
print(row.pk)
"""


def test_killed_after_storing_in_process_the_answer_is_stored_once(
    project: Project, make_image: MakeImage
) -> None:
    market.fund()
    batch = published(project, [make_image(1)])
    hit = Hit.objects.get()
    task = market.accept(hit, market.market_worker())
    key = page_key(hit, task.slot.assignment_id, task.worker.worker_id)
    values = {
        "KEY": json.dumps([key.unit, key.hit_id, key.assignment_id, key.worker_id]),
        "UUID": str(uuid.uuid4()),
        "ANSWER": json.dumps(observations()),
    }
    killed = children.run(STORE, DEERSTALKER_CRASH_AT="submit.after_store", **values)
    assert killed.returncode == EXIT_STATUS, killed.stderr
    stored = Submission.objects.get()
    again = children.run(STORE, **values)
    assert again.stdout.strip() == str(stored.pk), again.stderr
    market.submit_form(task, stored)
    (assignment,) = collected(batch)
    assert assignment.match == SubmissionMatch.MATCHED
    assert Submission.objects.count() == 1


def test_unknown_crash_point_is_refused() -> None:
    from hits.domain.crashpoints import crash_point

    with pytest.raises(LookupError):
        crash_point("publish.nowhere")
    assert settings.MTURK_ENDPOINT == "local"
