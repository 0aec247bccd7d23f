"""Workers read the results of a qualification task and of their training, once, on the marketplace's own pages."""

from collections.abc import Callable
from html import unescape
from typing import Any

import pytest
from django.contrib.auth.models import User
from django.test import Client

from hits.domain.states import CallState, TrainingOutcome
from hits.domain.workers import notices
from hits.marketplace.models import Message
from hits.marketplace.models import Worker as MarketWorker
from hits.models import Assignment, Hit, Image, OutgoingCall, Project
from hits.mturk.boto import BotoMarketplace, marketplace
from hits.mturk.port import Failure, MarketplaceError
from hits.services.outbox import outbox
from tests.support import market
from tests.support.answers import observations
from tests.support.judging.applicants import application, grade, qualification
from tests.support.judging.work import Work
from tests.support.loop import collected, published
from tests.support.market import fund, market_worker
from validation.selectors.rounds import GradedSubmission
from validation.services.applicant_decisions import _decide_chunk, _ready_applicants
from validation.services.training import give_feedback

pytestmark = pytest.mark.django_db(transaction=True)
REMARKS = [
    {"observation": 2, "part": "boxes", "box": 1, "text": "Draw it round the cup alone."},
    {"observation": None, "part": None, "box": None, "text": "Say more of what you cannot see."},
]


@pytest.fixture
def wilma() -> MarketWorker:
    return market_worker()


@pytest.fixture
def attempt(project: Project, make_image: Callable[..., Image], wilma: MarketWorker) -> Assignment:
    fund()
    batch = published(project, [make_image(1)], kind="sherlock_training")
    market.work(Hit.objects.get(), wilma, observations())
    return collected(batch)[0]


def page(worker: MarketWorker, path: str) -> str:
    browser = Client()
    browser.force_login(worker.user, backend="django.contrib.auth.backends.ModelBackend")
    return unescape(browser.get(path).content.decode())


def settle() -> outbox.SettleCounts:
    return outbox.settle_outstanding_calls(
        marketplace=marketplace(), calls=outbox.orphaned_calls(marketplace().environment.name)
    )


def test_training_feedback_is_sent_with_remarks(
    attempt: Assignment, wilma: MarketWorker, project: Project, researcher: User
) -> None:
    feedback = {"outcome": TrainingOutcome.RETRY, "summary": "Good so far.", "remarks": REMARKS}
    for _ in range(2):  # a repeated request plans nothing twice
        give_feedback(assignment=attempt, by=researcher, **feedback)
    assert notices.TRAINER_RETRY not in page(wilma, "/work/")
    assert settle().outstanding == 0
    assert settle().done == 0
    message = Message.objects.get()
    assert message.subject == notices.TRAINER_RETRY
    assert message.text == (
        f"{project.name}\n\nGood so far.\n\nRemarks:\n- Box 2: Draw it round the cup alone.\n"
        "- The whole attempt: Say more of what you cannot see.\n\n"
        "Your next training task shows the remarks beside your photo."
    )
    assert page(wilma, "/work/").count(notices.TRAINER_RETRY) == 1
    assert f'id="message-{message.pk}"' in page(wilma, "/work/messages")
    assert notices.TRAINER_RETRY not in page(wilma, "/work/")


def test_message_is_repeated_after_a_marketplace_outage(
    attempt: Assignment, researcher: User, monkeypatch: pytest.MonkeyPatch
) -> None:
    give_feedback(assignment=attempt, outcome=TrainingOutcome.COMPLETE, summary="", remarks=[], by=researcher)

    def fail(self: BotoMarketplace, *arguments: Any) -> dict[str, str]:
        raise MarketplaceError(Failure.UNREACHABLE, "no answer")

    with monkeypatch.context() as patch:
        patch.setattr(BotoMarketplace, "notify", fail)
        assert settle().outstanding == 1
    call = OutgoingCall.objects.get(operation=OutgoingCall.Operation.NOTIFY)
    assert call.state == CallState.INTENT
    assert settle().done == 1
    assert Message.objects.get().subject == notices.TRAINER_READY


def test_payment_is_made_for_a_worker_unknown_to_the_requester(
    attempt: Assignment, researcher: User, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr("hits.marketplace.operations.messages.find_past_worker_pks", lambda *_: set())
    give_feedback(assignment=attempt, outcome=TrainingOutcome.COMPLETE, summary="", remarks=[], by=researcher)
    settled = settle()
    assert (settled.refused, settled.outstanding) == (0, 0)
    assert not Message.objects.exists()


@pytest.mark.parametrize("training", [False, True])
def test_the_result_of_a_qualification_task_is_planned_with_its_reason(
    make_image: Callable[..., Image], work: Work, researcher: User, training: bool
) -> None:
    found = qualification(work.project, [make_image(n) for n in range(3)], 6)
    work.publish(found.batch)
    if training:
        fund()
        published(work.project, [make_image(9)], kind="sherlock_training")
    hit = Hit.objects.filter(unit__batch=found.batch).first()
    assert hit is not None
    for name, reasonable in (("one", 9), ("two", 3)):
        submission = work.answered(hit, name, application(hit.unit.payload, salt=name))
        grade(found, submission, researcher, reasonable=reasonable, note="It says what is seen.")
    ready: list[GradedSubmission] = _ready_applicants(found)
    _decide_chunk(found, [applicant.first_key.submission for applicant in ready], researcher)
    calls = OutgoingCall.objects.filter(operation=OutgoingCall.Operation.NOTIFY).order_by("pk")
    passed = notices.PASSED_TRAINING_OPEN if training else notices.PASSED
    assert [call.args["subject"] for call in calls] == [passed, notices.NOT_PASSED]
    assert "It says what is seen." in calls[1].args["text"]


def test_subjects_and_the_longest_text_are_within_mechanical_turks_limits() -> None:
    assert max(map(len, notices.FIXED_SUBJECTS)) <= 200
    assert len(notices.join_and_cut_paragraphs("n" * 120, "", "r" * 9000)) == notices.MAX_TEXT
