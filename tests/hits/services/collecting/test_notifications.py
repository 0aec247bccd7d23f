"""Notifications are hints: repeated, reordered, late or missing ones give the same final rows."""

import json
from collections.abc import Callable
from datetime import UTC, datetime, timedelta
from typing import Any
from urllib.parse import urlencode, urlsplit

import pytest
from django.test import Client
from django.utils import timezone

from curation.models import Pair
from hits.domain.mturk_formats.notification_events import parse_event
from hits.domain.states import SubmissionMatch
from hits.marketplace import delivery
from hits.marketplace.models import Clock, Notification, NotificationSetting
from hits.marketplace.models import Worker as MarketWorker
from hits.marketplace.services import attempts as market_attempts
from hits.marketplace.services.notifications import deliver_due_notifications
from hits.models import Assignment, Attempt, Batch, Hit, Image, MarketplaceEvent, Project, Worker
from hits.mturk.boto import marketplace
from hits.mturk.port import Failure, MarketplaceError
from hits.payments import ledger
from hits.services.collecting import notifications
from hits.services.launching.terms import LaunchTerms
from tests.support import market
from tests.support.answers import observations
from tests.support.failing import Later
from tests.support.loop import approve, collected, page_key, published, store
from tests.support.marketplace_clock import reset_clock

pytestmark = pytest.mark.django_db(transaction=True)
MakeImage = Callable[..., Image]
HIT_ID, SLOT_ID = "3HIT", "3SLOT"


def address() -> str:
    """Return the path that notifications go to."""
    return urlsplit(notifications.notification_url(marketplace().environment)).path


def document(kind: str = "AssignmentReturned", doc_id: str = "doc-1", **changes: Any) -> dict[str, Any]:
    """Return a document with one event."""
    event = {
        "EventType": kind,
        "EventTimestamp": "2026-11-20T10:00:00Z",
        "HITTypeId": "3TYPE",
        "HITId": HIT_ID,
        "AssignmentId": SLOT_ID,
        **changes,
    }
    return {"EventDocVersion": "2014-08-15", "EventDocId": doc_id, "CustomerId": "A1", "Events": [event]}


def post(body: dict[str, Any], path: str = "") -> int:
    """Send a document as SNS does; return the status."""
    envelope = {"Type": "Notification", "MessageId": "1", "Message": json.dumps(body)}
    reply = Client(enforce_csrf_checks=True).post(
        path or address(), json.dumps(envelope), content_type="text/plain; charset=UTF-8"
    )
    return reply.status_code


def process() -> int:
    """Act on what came in."""
    return notifications.process_notifications(marketplace=marketplace())


@pytest.fixture
def batch(project: Project, make_image: MakeImage) -> Batch:
    """A live batch of two HITs with two assignments each, with notifications."""
    market.fund()
    made = published(project, [make_image(1), make_image(2)], terms=LaunchTerms(redundancy=2))
    assert notifications.subscribe_batch(batch=made, marketplace=marketplace())
    return made


def test_subscribing_names_our_address_and_what_we_act_on(batch: Batch) -> None:
    notifications.subscribe_batch(batch=batch, marketplace=marketplace())
    setting = NotificationSetting.objects.get(hit_type__hit_type_id=batch.hit_type_id)
    assert urlsplit(setting.destination).path == address()
    assert set(setting.events) == {"AssignmentSubmitted", "AssignmentReturned", "AssignmentAbandoned"}


def test_a_refused_subscription_fails_no_launch(
    project: Project, make_image: MakeImage, settings: Any, caplog: pytest.LogCaptureFixture
) -> None:
    settings.MARKETPLACE_NOTIFICATION_HOSTS = []
    market.fund()
    made = published(project, [make_image(1)])
    assert not notifications.subscribe_batch(batch=made, marketplace=marketplace())
    assert "polled instead" in caplog.text
    assert not NotificationSetting.objects.exists()


@pytest.mark.parametrize("shape", ["sns", "sqs", "bare"])
def test_three_notification_formats_are_read_without_a_session(shape: str) -> None:
    client = Client(enforce_csrf_checks=True)
    text = json.dumps(document(WorkerId="AWORKER"))
    if shape == "sns":
        assert post(document(WorkerId="AWORKER")) == 200
    elif shape == "bare":
        assert client.post(address(), text, content_type="application/json").status_code == 200
    else:
        form = urlencode({"Action": "SendMessage", "MessageBody": text, "Version": "2012-11-05"})
        kind = "application/x-www-form-urlencoded"
        assert client.post(address(), form, content_type=kind).status_code == 200
    row = MarketplaceEvent.objects.get()
    assert (row.doc_id, row.environment, row.processed_at) == ("doc-1", "local", None)
    assert row.payload == [
        {
            "EventType": "AssignmentReturned",
            "EventTimestamp": "2026-11-20T10:00:00Z",
            "HITId": HIT_ID,
            "AssignmentId": SLOT_ID,
        }
    ]


def test_duplicate_notification_is_stored_once() -> None:
    assert [post(document()), post(document())] == [200, 200]
    assert MarketplaceEvent.objects.count() == 1


@pytest.mark.parametrize(
    ("body", "kind", "status"),
    [
        (b"", "application/json", 400),
        (b"[]", "application/json", 400),
        (b"{", "application/json", 400),
        (b'{"EventDocId": "1"}', "application/json", 400),
        (b'{"EventDocId": 1, "Events": []}', "application/json", 400),
        (b'{"EventDocId": "a b", "Events": []}', "application/json", 400),
        (b'{"Type": "Notification", "Message": "no"}', "text/plain", 400),
        (b'{"Type": "SubscriptionConfirmation", "SubscribeURL": "https://x"}', "text/plain", 400),
        (b"Action=SendMessage", "application/x-www-form-urlencoded", 400),
        (b"\xff\xfe", "application/json", 400),
        (b"[" * 60_000, "application/json", 400),
        (b" " * 70_000, "application/json", 413),
        (b" " * 3_000_000, "application/json", 413),
        (b"--x\r\n\r\n--x--", "multipart/form-data; boundary=x", 400),
    ],
)
def test_invalid_notification_is_refused_and_not_stored(body: bytes, kind: str, status: int) -> None:
    assert Client().post(address(), body, content_type=kind).status_code == status
    assert not MarketplaceEvent.objects.exists()


def test_notification_url_without_the_key_is_404() -> None:
    other = f"/notifications/{notifications.notification_key('aws-sandbox')}"
    for path in ("/notifications/x", "/notifications/ß", other):
        assert post(document(), path) == 404
    assert Client().get(address()).status_code == 405
    assert not MarketplaceEvent.objects.exists()


def test_events_about_nothing_of_ours_do_no_harm() -> None:
    post(document(doc_id="strange", kind="AssignmentSubmitted"))
    post(document(doc_id="test", HITId="TESTHIT", AssignmentId="TESTASSIGNMENT"))
    post({"EventDocId": "odd", "Events": [{"EventType": "\x00"}, 7, {}, {"HITId": "<b>"}]})
    assert process() == 3
    assert process() == 0
    assert MarketplaceEvent.objects.filter(processed_at=None).count() == 0


def test_a_submission_is_looked_at_before_the_next_poll(batch: Batch) -> None:
    hit = Hit.objects.order_by("pk").first()
    assert hit is not None
    market.work(hit, market.market_worker())
    assert not Assignment.objects.exists()
    relay()
    assert process() == 1
    assert Assignment.objects.get().match == SubmissionMatch.MATCHED


def test_a_marketplace_that_does_not_answer_is_asked_again(
    batch: Batch, monkeypatch: pytest.MonkeyPatch
) -> None:
    hit = Hit.objects.order_by("pk").first()
    assert hit is not None
    market.work(hit, market.market_worker())
    relay()

    def unreachable(**_: Any) -> None:
        raise MarketplaceError(Failure.UNREACHABLE, "no answer")

    with monkeypatch.context() as patch:
        patch.setattr(notifications.assignment_sync, "sync_hit", unreachable)
        process()
    assert MarketplaceEvent.objects.get().processed_at is None
    process()
    assert Assignment.objects.exists()
    assert MarketplaceEvent.objects.get().processed_at is not None


@pytest.mark.clock
def test_returned_work_is_released_but_not_what_was_opened_later_or_submitted(batch: Batch) -> None:
    hit = Hit.objects.order_by("pk").first()
    assert hit is not None
    noon = datetime(2026, 11, 20, 12, tzinfo=UTC)
    tries = {}
    for name, opened in (("submitted", -1), ("earlier", -1), ("later", 1)):
        worker = Worker.objects.create(environment="local", worker_id=f"A{name.upper()}")
        tries[name] = Attempt.objects.create(hit=hit, assignment_id=SLOT_ID, worker=worker)
        if name == "submitted":
            store(page_key(hit, SLOT_ID, worker.worker_id), observations())
        Attempt.objects.filter(pk=tries[name].pk).update(opened_at=noon + timedelta(minutes=opened))
    post(document(HITId=hit.hit_id, EventTimestamp="2026-11-20T12:00:00Z"))
    process()
    released = {name: Attempt.objects.get(pk=row.pk).released_at for name, row in tries.items()}
    assert released == {"earlier": noon, "later": None, "submitted": None}


@pytest.mark.clock
def test_notifications_processed_a_month_ago_are_deleted() -> None:
    for number, days in enumerate((29, 31, None)):
        post(document(doc_id=f"doc-{number}"))
        if days:
            acted = timezone.now() - timedelta(days=days)
            MarketplaceEvent.objects.filter(doc_id=f"doc-{number}").update(processed_at=acted)
    assert notifications.delete_old_notifications() == 1
    assert set(MarketplaceEvent.objects.values_list("doc_id", flat=True)) == {"doc-0", "doc-2"}


def relay(order: Callable[[list[Any]], list[Any]] = list, *, times: int = 1) -> None:
    """Deliver the marketplace's waiting notifications to our URL."""
    rows = list(Notification.objects.order_by("pk"))
    for row in order(rows):
        for _ in range(times):
            assert post(row.document) == 200
    Notification.objects.filter(pk__in=[row.pk for row in rows]).delete()


def give_back(task: market.Accepted) -> None:
    """Return a task."""
    market_attempts.return_task(worker=task.worker, assignment_id=task.slot.assignment_id, now=Clock.now())


def open_page(task: market.Accepted) -> None:
    """Open the task's page, as the worker's browser does after accepting."""
    from hits.services.collecting import submit

    submit.open_attempt(page_key(task.hit, task.slot.assignment_id, task.worker.worker_id))


def play(hits: list[Hit], people: list[MarketWorker], meanwhile: Callable[[], None]) -> None:
    """Return, take over, take again, run out of time, hand in: with whatever happens after each step."""
    ann, bob, cleo = people
    first = market.accept(hits[0], ann)
    open_page(first)
    meanwhile()
    give_back(first)
    meanwhile()
    market.work(hits[0], ann, observations(4, salt="ann"))  # the same slot once more
    meanwhile()
    market.work(hits[0], bob, observations(3, salt="bob"))
    meanwhile()
    other = market.accept(hits[1], cleo)
    open_page(other)
    give_back(other)
    market.work(hits[1], bob, observations(5, salt="bob again"))  # the slot that cleo gave back
    meanwhile()
    market.work(hits[1], ann, observations(3, salt="ann again"))
    meanwhile()


def final_rows(batch: Batch, people: list[MarketWorker]) -> Any:
    """Return what is decided, kept and paid, with names instead of random ids."""
    names = {person.worker_id: name for person, name in zip(people, ("ann", "bob", "cleo"), strict=True)}
    units = {pk: number for number, pk in enumerate(batch.units.order_by("pk").values_list("pk", flat=True))}
    shown = [
        (units[row.hit.unit_id], names[row.worker.worker_id], row.status, row.match)
        for row in Assignment.objects.select_related("hit", "worker")
    ]
    kept = Pair.objects.values_list("submission__attempt__worker__worker_id", "index")
    sums = ledger.sum_entries(batch=batch)
    balance = marketplace().get_balance()
    return {
        "assignments": sorted(shown),
        "observations": sorted((names[worker], index) for worker, index in kept),
        "ours": (sums.reward, sums.bonus, sums.fee, sums.held),
        "theirs": (balance.available_cents, balance.on_hold_cents),
    }


EXPECTED = {
    "assignments": [
        (0, "ann", "Approved", "matched"),
        (0, "bob", "Approved", "matched"),
        (1, "ann", "Approved", "matched"),
        (1, "bob", "Approved", "matched"),
    ],
    "observations": sorted(
        [("ann", n) for n in (1, 1, 2, 2, 3, 3, 4)] + [("bob", n) for n in (1, 1, 2, 2, 3, 3, 4, 5)]
    ),
    "ours": (440, 45, 0, 0),
    "theirs": (1_000_000 - 485, 0),
}


@pytest.mark.parametrize("way", ["never", "once", "twice", "reversed"])
def test_the_final_rows_are_the_same_however_notifications_come(batch: Batch, way: str) -> None:
    people = [market.market_worker(name) for name in ("ann", "bob", "cleo")]
    hits = list(Hit.objects.order_by("pk"))

    def notify_at_once() -> None:
        relay(times=2 if way == "twice" else 1)
        process()

    play(hits, people, notify_at_once if way in {"once", "twice"} else lambda: None)
    if way == "reversed":
        relay(lambda rows: rows[::-1])
        process()
    for assignment in collected(batch):
        approve(assignment)
    if way == "never":
        assert not MarketplaceEvent.objects.exists()
    else:
        assert MarketplaceEvent.objects.filter(processed_at__isnull=False).count() == 6
    collected(batch)
    assert final_rows(batch, people) == EXPECTED


@pytest.mark.clock
def test_the_final_rows_are_the_same_when_our_address_was_down_for_an_hour(
    batch: Batch, monkeypatch: pytest.MonkeyPatch
) -> None:
    """The marketplace's own delivery, by both clocks: nothing arrives until everything is decided and paid."""
    line = {"is_up": False, "tries": 0}

    def carry(parcel: delivery.OutgoingRequest) -> None:
        line["tries"] += 1
        if not line["is_up"]:
            raise delivery.DeliveryError("the connection was refused")
        reply = Client(enforce_csrf_checks=True).post(
            urlsplit(parcel.destination).path, parcel.body, content_type=parcel.headers["Content-Type"]
        )
        assert reply.status_code == 200

    monkeypatch.setattr(delivery, "send_request", carry)
    later = Later(monkeypatch)
    people = [market.market_worker(name) for name in ("ann", "bob", "cleo")]

    def notify_in_vain() -> None:
        later.by(timedelta(minutes=2))
        assert deliver_due_notifications(now=Clock.now()) == 0

    try:
        play(list(Hit.objects.order_by("pk")), people, notify_in_vain)
        for assignment in collected(batch):
            approve(assignment)
        assert (line["tries"] > 0, MarketplaceEvent.objects.count(), process()) == (True, 0, 0)
        later.by(timedelta(hours=1))
        line["is_up"] = True
        assert deliver_due_notifications(now=Clock.now()) == process() == 6
        for event in MarketplaceEvent.objects.all():
            (notice,) = event.payload
            assert event.received_at - parse_event(notice).at > timedelta(hours=1)
        collected(batch)
        assert final_rows(batch, people) == EXPECTED
    finally:
        reset_clock()
