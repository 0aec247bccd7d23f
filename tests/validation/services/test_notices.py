"""A worker reads why they get no new tasks, and that tasks are open again, on the marketplace's own page."""

import logging
from collections.abc import Callable
from html import unescape

import pytest
from django.contrib.auth.models import User
from django.test import Client
from django.utils import timezone

from hits.domain.states import CallState, WorkerAction
from hits.domain.workers.notices import worker_decision_notice
from hits.domain.workers.qualification_pools import Pool
from hits.marketplace.models import Message, Qualification
from hits.marketplace.models import Worker as MarketWorker
from hits.models import Image, Project, Worker, WorkerCall
from hits.mturk.boto import BotoMarketplace, marketplace
from hits.mturk.port import Failure, MarketplaceError
from hits.services.workers import qualifications
from hits.services.workers.qualifications import SUPERSEDED, decide_on_worker, settle_decision
from tests.support.loop import published
from tests.support.market import fund, market_worker
from validation.domain.qualification.worker_status import WorkerStatus
from validation.selectors.worker_history import worker_history
from validation.services.worker_status import change_worker_status, settle_worker_calls

pytestmark = pytest.mark.django_db(transaction=True)
WHY = "Your last ten boxes cover the whole photo."
BACK = "We talked it over."


@pytest.fixture
def wilma(project: Project, make_image: Callable[..., Image]) -> MarketWorker:
    """Somebody whom the project knows."""
    fund()
    published(project, [make_image(1)])
    return market_worker()


@pytest.fixture
def worker(wilma: MarketWorker) -> Worker:
    return Worker.objects.create(environment="local", worker_id=wilma.worker_id)


def put(project: Project, worker: Worker, status: WorkerStatus, by: User, reason: str) -> list[str]:
    change_worker_status(project=project, worker=worker, status=status, reason=reason, by=by)
    return settle_worker_calls(project=project, worker=worker, marketplace=marketplace())


def inbox(person: MarketWorker) -> str:
    """Return the person's page of messages."""
    browser = Client()
    browser.force_login(person.user, backend="django.contrib.auth.backends.ModelBackend")
    return unescape(browser.get("/work/messages").content.decode())


def subjects() -> list[str]:
    return list(Message.objects.order_by("pk").values_list("subject", flat=True))


def excluded(worker: Worker) -> list[str]:
    """Return the state of the soft block as the marketplace keeps it."""
    rows = Qualification.objects.filter(worker__worker_id=worker.worker_id)
    return list(rows.values_list("status", flat=True))


def test_paused_worker_gets_the_reason_and_a_message_on_reinstatement(
    project: Project, wilma: MarketWorker, worker: Worker, researcher: User
) -> None:
    assert put(project, worker, WorkerStatus.PAUSED, researcher, WHY) == []
    page = inbox(wilma)
    assert f"You get no new tasks of {project.name} for now" in page
    assert f"<p>{WHY}</p>" in page
    assert "still paid" in page
    assert inbox(market_worker("carla")).count(WHY) == 0
    assert put(project, worker, WorkerStatus.ACTIVE, researcher, BACK) == []
    page = inbox(wilma)
    assert f"Tasks of {project.name} are open to you again" in page
    assert BACK in page
    assert Message.objects.count() == 2
    assert settle_worker_calls(project=project, worker=worker, marketplace=marketplace()) == []
    assert qualifications.settle_outstanding_decisions(marketplace=marketplace()) == 0
    assert Message.objects.count() == 2  # nothing is told twice


def test_messages_are_sent_only_for_changes_that_the_marketplace_does_not_show(
    project: Project, wilma: MarketWorker, worker: Worker, researcher: User, admin: User
) -> None:
    for action in (WorkerAction.GRANT, WorkerAction.REVOKE):
        decision = decide_on_worker(
            project=project, worker=worker, action=action, pool=Pool.TRAINED, reason="Ready.", by=researcher
        )
        assert settle_decision(decision=decision, marketplace=marketplace())
    put(project, worker, WorkerStatus.BLOCKED, admin, WHY)
    assert subjects() == []  # the page of qualifications says each of these with its reason
    put(project, worker, WorkerStatus.PAUSED, admin, "A pause is enough.")
    assert subjects() == [
        f"You are no longer blocked from the tasks of {project.name}",
        f"You get no new tasks of {project.name} for now",
    ]


@pytest.mark.parametrize("way", ["refused", "lost", "missed"])
def test_pause_is_carried_out_when_its_message_fails(
    project: Project,
    worker: Worker,
    researcher: User,
    monkeypatch: pytest.MonkeyPatch,
    caplog: pytest.LogCaptureFixture,
    way: str,
) -> None:
    granted = []
    grant = BotoMarketplace.grant

    def counted(self: BotoMarketplace, *arguments: object) -> None:
        granted.append(arguments)
        grant(self, *arguments)  # type: ignore[arg-type]

    def fail(self: BotoMarketplace, worker_ids: list[str], subject: str, text: str) -> dict[str, str]:
        why = f"{worker.worker_id} is not known here"
        if way == "missed":
            return {worker.worker_id: why}
        raise MarketplaceError(Failure.REFUSED if way == "refused" else Failure.UNREACHABLE, why)

    monkeypatch.setattr(BotoMarketplace, "grant", counted)
    monkeypatch.setattr(BotoMarketplace, "notify", fail)
    with caplog.at_level(logging.DEBUG, logger="hits"):
        assert put(project, worker, WorkerStatus.PAUSED, researcher, WHY) == []
    call = WorkerCall.objects.get()
    assert (call.state, call.error) == (CallState.DONE, f"not notified: {worker} is not known here")
    assert excluded(worker) == ["Granted"]
    assert worker.worker_id not in "".join(record.getMessage() for record in caplog.records)
    assert f"about worker {worker} is settled, but not notified" in caplog.text
    assert "not notified" in worker_history(worker, project)[0].text + worker_history(worker, project)[1].text
    assert qualifications.settle_outstanding_decisions(marketplace=marketplace()) == 0
    assert len(granted) == 1


def test_pause_is_carried_out_for_a_worker_unknown_to_the_requester(
    project: Project, worker: Worker, researcher: User, monkeypatch: pytest.MonkeyPatch
) -> None:
    # As on Mechanical Turk, where a qualification alone does not count as work.
    monkeypatch.setattr("hits.marketplace.operations.messages.find_past_worker_pks", lambda *_: set())
    assert put(project, worker, WorkerStatus.PAUSED, researcher, WHY) == []
    assert WorkerCall.objects.get().error.startswith("not notified: You have not approved or rejected work")
    assert excluded(worker) == ["Granted"]


def test_message_of_an_earlier_decision_is_not_sent_after_a_later_one(
    project: Project, worker: Worker, monkeypatch: pytest.MonkeyPatch
) -> None:
    facts = {"project": project, "worker": worker, "pool": Pool.EXCLUDED, "reason": WHY, "by": None}
    pause = decide_on_worker(action=WorkerAction.GRANT, **facts)
    grant = BotoMarketplace.grant

    def slow(self: BotoMarketplace, *arguments: object) -> None:
        """Take so long that the pause counts as dead, and somebody else ends it before it comes back."""
        grant(self, *arguments)  # type: ignore[arg-type]
        WorkerCall.objects.filter(decision=pause).update(
            attempt_at=timezone.now() - qualifications.CALL_TIMEOUT
        )
        later = decide_on_worker(action=WorkerAction.REVOKE, **facts)
        assert settle_decision(decision=later, marketplace=self)
        assert settle_decision(decision=pause, marketplace=self)  # the beat finds it overtaken

    monkeypatch.setattr(BotoMarketplace, "grant", slow)
    assert settle_decision(decision=pause, marketplace=marketplace())
    assert subjects() == [f"Tasks of {project.name} are open to you again"]
    assert excluded(worker) == ["Revoked"]
    assert WorkerCall.objects.get(decision=pause).error == SUPERSEDED


def test_longest_reason_fits_into_a_message() -> None:
    longest = Project._meta.get_field("name").max_length
    assert longest
    for action in (WorkerAction.GRANT, WorkerAction.REVOKE, WorkerAction.UNBLOCK):
        pool = None if action is WorkerAction.UNBLOCK else Pool.EXCLUDED
        notice = worker_decision_notice(action, pool, "n" * longest, "r" * qualifications.MAX_REASON)
        assert notice is not None
        assert len(notice.subject) <= 200
        assert len(notice.text) <= 4096
