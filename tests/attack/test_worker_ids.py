"""Knowing the ids of a worker, a unit and a HIT gives no access."""

import json
import re
import uuid
from collections.abc import Callable
from typing import Any

import pytest
from django.conf import settings
from django.core import signing
from django.test import Client
from django.urls import reverse

from hits.domain.states import TrainingOutcome, WorkerAction
from hits.domain.workers.requirements import Comparator
from hits.marketplace.models import Clock
from hits.marketplace.services import attempts as market_attempts
from hits.models import (
    Attempt,
    Batch,
    Declaration,
    Demographics,
    Hit,
    Image,
    Participation,
    Project,
    Worker,
)
from hits.services.collecting import submit
from hits.services.collecting.page_keys import BadToken, issue_token, read_token
from hits.services.launching.terms import LaunchTerms
from hits.services.reviewing import feedback
from hits.services.workers.qualifications import decide_on_worker
from tests.support import market
from tests.support.answers import observations
from tests.support.loop import collected, page_key, published

pytestmark = pytest.mark.django_db(transaction=True)
REASON = "Copied other people's texts; suspected fraud (case 17)"
FOREIGN = "https://www.mturk.com"


@pytest.fixture
def frame() -> Client:
    return Client(HTTP_HOST=settings.HIT_ORIGIN.removeprefix("http://"))


@pytest.fixture
def batch(project: Project, make_image: Callable[..., Image]) -> Batch:
    market.fund()
    return published(project, [make_image(1), make_image(2)], terms=LaunchTerms(redundancy=3))


def address(hit: Hit, worker: str, *, assignment: str = "3INVENTED", submit_to: str = "") -> str:
    values = {
        "assignmentId": assignment,
        "hitId": hit.hit_id,
        "workerId": worker,
        "turkSubmitTo": submit_to or settings.PUBLIC_URL,
    }
    query = "&".join(f"{name}={value}" for name, value in values.items())
    return f"{reverse('hit-page', args=[hit.unit.public_id])}?{query}"


def token_in(page: Any) -> str | None:
    found = re.search(r'<script[^>]*id="hit-config"[^>]*>(.*?)</script>', page.content.decode(), re.DOTALL)
    return json.loads(found[1]).get("token") if found else None


def block(project: Project, worker: Worker) -> None:
    decide_on_worker(
        project=project, worker=worker, action=WorkerAction.BLOCK, pool=None, reason=REASON, by=None
    )


@pytest.mark.parametrize(
    "submit_to", ["", "{public}/a/" + "0" * 64, "{public}/a/x", "{public}", "{public}/a/"]
)
def test_worker_id_without_secret_gets_no_reason_and_no_token(
    batch: Batch, project: Project, frame: Client, submit_to: str
) -> None:
    hit = batch.units.first().hits.get()  # type: ignore[union-attr]
    wanda = market.market_worker("wanda")
    unknown = frame.get(address(hit, "ANOBODY", submit_to=submit_to.format(public=settings.PUBLIC_URL)))
    block(project, Worker.objects.create(environment="local", worker_id=wanda.worker_id))
    page = frame.get(address(hit, wanda.worker_id, submit_to=submit_to.format(public=settings.PUBLIC_URL)))
    assert page.status_code == 403
    assert "fraud" not in page.content.decode()
    seen = page.content.decode().replace(wanda.worker_id, "ANOBODY")
    assert seen == unknown.content.decode(), "a blocked worker and nobody at all look the same"
    assert token_in(page) is None
    assert Attempt.objects.count() == 0


def test_attempt_secret_opens_only_its_own_page(batch: Batch, project: Project, frame: Client) -> None:
    hit = batch.units.first().hits.get()  # type: ignore[union-attr]
    wanda, mallory = market.market_worker("wanda"), market.market_worker("mallory")
    block(project, Worker.objects.create(environment="local", worker_id=wanda.worker_id))
    mine = market.accept(hit, mallory)
    own = f"{settings.PUBLIC_URL}/a/{mine.secret}"
    assert (
        frame.get(
            address(hit, mallory.worker_id, assignment=mine.slot.assignment_id, submit_to=own)
        ).status_code
        == 200
    )
    for worker, assignment in ((wanda.worker_id, mine.slot.assignment_id), (wanda.worker_id, "3OTHER")):
        page = frame.get(address(hit, worker, assignment=assignment, submit_to=own))
        assert (page.status_code, "fraud" in page.content.decode(), token_in(page)) == (403, False, None)
    other = batch.units.last().hits.get()  # type: ignore[union-attr]
    page = frame.get(address(other, mallory.worker_id, assignment=mine.slot.assignment_id, submit_to=own))
    assert page.status_code == 403


def test_secret_of_returned_task_opens_nothing(batch: Batch, frame: Client) -> None:
    hit = batch.units.first().hits.get()  # type: ignore[union-attr]
    wanda = market.market_worker("wanda")
    task = market.accept(hit, wanda)
    own = f"{settings.PUBLIC_URL}/a/{task.secret}"
    mine = address(hit, wanda.worker_id, assignment=task.slot.assignment_id, submit_to=own)
    assert token_in(frame.get(mine)) is not None
    market_attempts.return_task(worker=wanda, assignment_id=task.slot.assignment_id, now=Clock.now())
    assert frame.get(mine).status_code == 403


def test_token_issued_without_proof_is_refused(batch: Batch) -> None:
    hit = batch.units.first().hits.get()  # type: ignore[union-attr]
    key = page_key(hit, "3ASG", "AWANDA")
    parts = [key.unit, key.hit_id, key.assignment_id, key.worker_id]
    with pytest.raises(BadToken, match="Reload the task"):
        read_token(signing.dumps(parts, salt="hits.page", compress=True))
    assert read_token(issue_token(key)) == key


def test_worker_with_secret_reads_reason(
    project: Project, make_image: Callable[..., Image], frame: Client
) -> None:
    market.fund()
    hit = published(project, [make_image(1)]).units.get().hits.get()
    wanda = market.market_worker("wanda")
    task = market.accept(hit, wanda)
    block(project, Worker.objects.create(environment="local", worker_id=wanda.worker_id))
    own = f"{settings.PUBLIC_URL}/a/{task.secret}"
    page = frame.get(address(hit, wanda.worker_id, assignment=task.slot.assignment_id, submit_to=own))
    assert page.status_code == 403
    assert "suspected fraud (case 17)" in page.content.decode()


@pytest.fixture
def foreign(batch: Batch) -> Hit:
    """A HIT as on a marketplace that is not ours, open in the United States alone."""
    Batch.objects.update(environment="aws-production")
    Hit.objects.update(environment="aws-production")
    batch.requirements.create(qualification=None, comparator=Comparator.IN, values=["US"])
    return Hit.objects.select_related("unit__batch__project").order_by("pk").first()  # type: ignore[return-value]


def test_foreign_page_gets_no_reason(foreign: Hit, project: Project, frame: Client) -> None:
    wanda = Worker.objects.create(environment="aws-production", worker_id="AWANDA")
    block(project, wanda)
    page = frame.get(address(foreign, "AWANDA", submit_to=FOREIGN))
    assert page.status_code == 403
    assert "This task is not open to you." in page.content.decode()
    assert "fraud" not in page.content.decode()
    with pytest.raises(submit.NotEligible) as error:
        submit.open_attempt(page_key(foreign, "3ASG", "AWANDA"))
    assert "fraud" not in str(error.value)


def test_foreign_page_neither_asks_for_nor_stores_country(foreign: Hit, frame: Client) -> None:
    page = frame.get(address(foreign, "AFRESH", submit_to=FOREIGN))
    assert page.status_code == 200
    assert 'name="country"' not in page.content.decode()
    key = page_key(foreign, "3ASG", "AFRESH")
    submit.record_consent(key=key, version=1, country="KP", demographics_answers={"age": "25-34"})
    assert Declaration.objects.count() == Demographics.objects.count() == 0
    assert Participation.objects.count() == 1, "what everybody agrees to is taken"
    assert submit.open_attempt(key).worker.worker_id == "AFRESH"
    stored, _ = submit.store_submission(
        key=key, client_uuid=uuid.uuid4(), answer=observations(), active_seconds=9.0
    )
    assert stored.attempt.worker.worker_id == "AFRESH"


def test_trainer_remarks_need_secret(
    project: Project, make_image: Callable[..., Image], frame: Client
) -> None:
    market.fund()
    images = [make_image(1), make_image(2)]
    batch = published(project, images, kind="sherlock_training")
    first, second = (unit.hits.get() for unit in batch.units.all())
    wanda = market.market_worker("wanda")
    market.work(first, wanda)
    (row,) = collected(batch)
    feedback.write_feedback(
        submission=row.submission,
        outcome=TrainingOutcome.RETRY,
        summary="Your boxes are too loose, Wanda",
        remarks=[],
        by=None,
    )
    invented = frame.get(address(second, wanda.worker_id))
    assert token_in(invented) is None
    Hit.objects.update(environment="aws-production")
    Batch.objects.update(environment="aws-production")
    Worker.objects.update(environment="aws-production")
    token = token_in(frame.get(address(second, wanda.worker_id, submit_to=FOREIGN)))
    reply = frame.post(
        reverse("hit-api-open"), data="{}", content_type="application/json",
        headers={"Authorization": f"Bearer {token}"},
    )  # fmt: skip
    assert (reply.status_code, reply.json()["feedback"]) == (200, None)
