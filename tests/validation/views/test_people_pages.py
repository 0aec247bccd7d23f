"""The pages about workers: access, content, and constant query counts."""

import re
from collections.abc import Callable
from dataclasses import dataclass

import pytest
from django.contrib.auth.models import User
from django.db import connection
from django.test import Client
from django.test.utils import CaptureQueriesContext
from django.urls import reverse

from hits.models import AuditEvent, Demographics, Hit, Image, Project, Worker
from tests.support.judging.crowd import crowd, pair_of
from tests.support.judging.work import Work, review
from tests.support.pages import squeezed
from tests.support.undone import undone
from validation.domain.qualification.worker_rules import RuleSettings
from validation.domain.qualification.worker_status import Measure, WorkerStatus
from validation.models import RuleProposal, StatusChange
from validation.services import worker_rules
from validation.services.judging import launch_review
from validation.services.worker_status import change_worker_status

pytestmark = pytest.mark.django_db(transaction=True)
OK, MOVED, BAD, FORBIDDEN, ABSENT = 200, 302, 400, 403, 404


@dataclass(frozen=True)
class Page:
    """A URL of a project with the status for researcher and admin; others get 404."""

    name: str
    key: str = ""
    post: dict[str, str] | None = None
    researcher: int = OK
    admin: int = OK


PAGES = [
    Page("workers"),
    Page("worker-detail", "worker"),
    Page("worker-status", "worker", {"status": "paused", "reason": "Why"}, MOVED, MOVED),
    Page("worker-forget", "worker", {}, FORBIDDEN, MOVED),
    Page("training-queue"),
    Page("training-answer", "nothing", {"outcome": "again"}, ABSENT, ABSENT),
    Page("worker-rules"),
    Page("rule-new"),
    Page("rules-apply", "", {}, MOVED, MOVED),
    Page("rule-edit", "rule"),
    Page("rule-switch", "rule", {"on": "no"}, MOVED, MOVED),
    Page("proposal-decide", "proposal", {"answer": "dismiss", "reason": "Why"}, MOVED, MOVED),
]


@pytest.fixture
def image(make_image: Callable[..., Image]) -> Image:
    return make_image(1)


@pytest.fixture
def worker(project: Project, image: Image) -> Worker:
    return crowd(project, image, 1, each=4, rejected=1)[0]


@pytest.fixture
def proposal(project: Project, worker: Worker) -> RuleProposal:
    rule = RuleSettings(Measure.APPROVED_SHARE, 90, 50, 2)
    worker_rules.save_rule(project=project, name="Approved", rule=rule, proposes=WorkerStatus.PAUSED, by=None)
    worker_rules.evaluate_rules()
    return RuleProposal.objects.get()


def url(page: Page, project: Project, proposal: RuleProposal) -> str:
    keys = {
        "worker": [proposal.worker_id],
        "rule": [proposal.rule_id],
        "proposal": [proposal.pk],
        "nothing": [987654],
    }
    return reverse(page.name, args=[project.slug, *keys.get(page.key, [])])


def test_pages_open_for_project_members_only(
    subtests: pytest.Subtests,
    project: Project,
    proposal: RuleProposal,
    annotator: User,
    outsider: User,
    researcher: User,
    admin: User,
) -> None:
    def call(client: Client, page: Page) -> int:
        address = url(page, project, proposal)
        reply = client.get(address) if page.post is None else client.post(address, page.post)
        return int(reply.status_code)

    before = (StatusChange.objects.count(), AuditEvent.objects.count())
    for page in PAGES:
        with subtests.test(page.name), undone():
            client = Client()
            assert call(client, page) == MOVED  # to the sign-in
            for stranger in (annotator, outsider):
                client.force_login(stranger)
                assert call(client, page) == ABSENT
            assert (StatusChange.objects.count(), AuditEvent.objects.count()) == before
            for member, status in ((researcher, page.researcher), (admin, page.admin)):
                client.force_login(member)
                assert call(client, page) == status, member
            if page.post is not None:
                assert client.get(url(page, project, proposal)).status_code == 405


def test_rows_of_another_project_are_not_found(
    client: Client, rehearsal: Project, proposal: RuleProposal, admin: User
) -> None:
    client.force_login(admin)
    for page in PAGES:
        if page.key:
            address = url(page, rehearsal, proposal)
            reply = client.get(address) if page.post is None else client.post(address, page.post)
            assert reply.status_code == ABSENT, page.name
    assert not StatusChange.objects.exists()


def test_worker_list_filters_searches_and_pages(
    client: Client, project: Project, image: Image, researcher: User
) -> None:
    workers = crowd(project, image, 60)
    change_worker_status(
        project=project, worker=workers[3], status=WorkerStatus.PAUSED, reason="Why", by=researcher
    )
    client.force_login(researcher)
    address = reverse("workers", args=[project.slug])

    def shown(**query: str) -> list[int]:
        page = client.get(address, query).content.decode()
        assert not any(worker.worker_id in page for worker in workers)
        return [int(found) for found in re.findall(r"<b>W-(\d+)</b>", page)]

    keys = [worker.pk for worker in workers]
    assert shown() == keys[:50]
    assert shown(page="2") == keys[50:]
    assert shown(standing="paused") == [keys[3]]
    assert shown(standing="active", page="2") == keys[51:]
    assert shown(standing="nonsense") == keys[:50]
    for search in (f"W-{keys[7]}", f" w{keys[7]}", str(keys[7])):
        assert shown(q=search) == [keys[7]]
    for nobody in ("W-0", "wilma", "<b>", "9" * 30):
        assert shown(q=nobody) == []


def test_worker_page_shows_figures_and_history(
    client: Client, work: Work, worker: Worker, image: Image, researcher: User
) -> None:
    project = work.project
    pairs = [pair_of(worker, image, number) for number in (1, 2, 3)]
    batch, _ = launch_review(project=project, observations=pairs, by=None)
    work.publish(batch)
    for hit, word in zip(
        Hit.objects.filter(unit__batch=batch).order_by("pk"), ("highly", "un", "highly"), strict=True
    ):
        work.answered(hit, "JUDGE", review(word))
    change_worker_status(
        project=project, worker=worker, status=WorkerStatus.PAUSED, reason="Too large.", by=researcher
    )
    client.force_login(researcher)
    page = " ".join(
        client.get(reverse("worker-detail", args=[project.slug, worker.pk])).content.decode().split()
    )
    for text in (
        "<dd>3 <small>of 4 decided</small></dd>",
        "<dd>4 min</dd>",
        "over 3 submissions",
        "<dd>$16.50</dd>",
        "mean $16.50, target $15.00",
        "<dd>2.0</dd>",
        "8 shown, 4 ignored, 4 submissions",
        "66.7% <small>of 3</small>",
        "100.0% <small>of 3</small>",
        "Agreed to consent text v1",
        "4 submissions in Batch",
        "3 approved, 1 rejected",
        "Status: paused",
        "Granted “excluded”",
        "“Too large.”",
        f"Reinstate {worker}…",
    ):
        assert text in page, text
    assert worker.worker_id not in page
    assert f"Block {worker}…" not in page
    assert page.count('<li class="yes">') == 2


def test_admin_can_block_and_delete_optional_answers(
    client: Client, project: Project, worker: Worker, admin: User
) -> None:
    Demographics.objects.create(project=project, worker=worker, answers={"age": "25-34"})
    client.force_login(admin)
    address = reverse("worker-detail", args=[project.slug, worker.pk])
    page = squeezed(client.get(address))
    assert f"Block {worker}…" in page
    assert "25-34" not in page
    for _ in range(2):
        assert client.post(reverse("worker-forget", args=[project.slug, worker.pk])).status_code == MOVED
    assert not Demographics.objects.exists()
    assert AuditEvent.objects.filter(action="demographics.delete").count() == 1
    assert "Delete these answers" not in squeezed(client.get(address))


def test_invalid_status_change_is_refused_and_not_stored(
    client: Client, project: Project, worker: Worker, researcher: User
) -> None:
    client.force_login(researcher)
    address = reverse("worker-status", args=[project.slug, worker.pk])
    for status, message in (
        ("blocked", "Only an admin"),
        ("applied", "cannot become applied here"),
        ("trained", "cannot become trained here"),
        ("x", "Choose a status"),
    ):
        page = client.post(address, {"status": status, "reason": "Why"}, follow=True).content.decode()
        assert message in page
    assert not StatusChange.objects.exists()


def test_worker_is_reinstated_to_former_status_or_to_training(
    client: Client, project: Project, worker: Worker, researcher: User
) -> None:
    client.force_login(researcher)
    address = reverse("worker-detail", args=[project.slug, worker.pk])
    act = reverse("worker-status", args=[project.slug, worker.pk])
    change_worker_status(
        project=project, worker=worker, status=WorkerStatus.TRAINED, reason="Ready.", by=researcher
    )
    client.post(act, {"status": "dequalified", "reason": "Too large."})
    page = client.get(address).content.decode()
    assert re.findall(r'<option value="(\w+)">', page) == ["trained", "qualified"]
    for _ in range(2):  # a repeated request
        client.post(act, {"status": "qualified", "reason": "Train again."})
    statuses = [change.status for change in StatusChange.objects.order_by("pk")]
    assert statuses == ["trained", "dequalified", "qualified"]


@pytest.mark.parametrize("name", ["workers", "worker-detail", "worker-rules", "rule-new", "training-queue"])
def test_query_count_is_independent_of_workers(
    client: Client, project: Project, image: Image, researcher: User, name: str
) -> None:
    client.force_login(researcher)
    rule = RuleSettings(Measure.APPROVED_SHARE, 90, 50, 1)
    worker_rules.save_rule(project=project, name="Approved", rule=rule, proposes=WorkerStatus.PAUSED, by=None)
    body = {
        "name": "R",
        "measure": "acceptable_share",
        "below": "80",
        "window": "50",
        "at_least": "1",
        "proposes": "paused",
        "step": "preview",
    }

    def more(count: int) -> Worker:
        workers = crowd(project, image, count, each=2, rejected=1)
        pair_of(workers[0], image, 1)
        change_worker_status(
            project=project, worker=workers[1], status=WorkerStatus.PAUSED, reason="Why", by=None
        )
        worker_rules.evaluate_rules()
        return workers[0]

    def count(worker: Worker) -> int:
        address = reverse(name, args=[project.slug, worker.pk] if name == "worker-detail" else [project.slug])
        call = (lambda: client.post(address, body)) if name == "rule-new" else (lambda: client.get(address))
        call()  # fill sessions and caches
        with CaptureQueriesContext(connection) as seen:
            assert call().status_code == OK
        return len(seen)

    few = count(more(20))
    assert count(more(180)) == few
