"""Who may open which page of the console: every address of hits.urls, for everybody of the cast."""

from collections.abc import Callable
from dataclasses import dataclass
from typing import Any

import pytest
from django.contrib.auth.models import User
from django.test import Client
from django.urls import URLPattern, reverse

from hits import urls
from hits.domain.instructions import InstructionText
from hits.domain.states import Role
from hits.models import Assignment, Batch, Hit, Image, Job, Project, TaskTemplate
from hits.services import instructions
from hits.services.launching import template_launch
from tests.support import market
from tests.support.loop import collected, published
from tests.support.undone import undone

pytestmark = pytest.mark.django_db(transaction=True)

# Marketplace workers' frames and the API inside them: their own sign-in, tested in test_hit_page.py.
TESTED_IN_OTHER_FILES = {
    "hit-page",
    "hit-document",
    "hit-region",
    "hit-api-open",
    "hit-api-draft",
    "hit-api-hints",
    "hit-api-submission",
    "hit-api-consent",
    "image-file",  # tests/hits/services/images/test_take_down.py: for everybody, as a photo in a frame has to be
    "notification",  # tests/hits/services/collecting/test_notifications.py: its key is its own sign-in
}
OK, MOVED, FORBIDDEN, ABSENT = 200, 302, 403, 404


@dataclass(frozen=True)
class Page:
    """An address, and the status for researcher and admin; ``strangers`` is what others get."""

    name: str
    key: str = ""
    post: dict[str, str] | None = None
    researcher: int = OK
    admin: int = OK
    strangers: int = ABSENT
    annotator: int | None = None


def acts(name: str, key: str, researcher: int = MOVED, **data: str) -> Page:
    """A page that only takes a POST and then goes somewhere else."""
    return Page(name, key, post=data, researcher=researcher, admin=MOVED)


PAGES = [
    Page("projects", strangers=OK, annotator=MOVED),
    Page("project-new", researcher=FORBIDDEN, admin=FORBIDDEN, strangers=FORBIDDEN),
    Page("project-batches", "slug"),
    Page("batch-new", "slug"),
    Page("project-images", "slug"),
    Page("project-image", "image"),
    Page("image-add", "slug", post={}, researcher=400, admin=400),
    Page("images-zip", "slug", post={}, researcher=400, admin=400),
    Page("images-manifest", "slug", post={}, researcher=400, admin=400),
    acts("image-take-down", "image", reason="asked"),
    acts("image-put-back", "image", reason="asked"),
    Page("project-templates", "slug"),
    Page("template-detail", "template"),
    Page("template-document", "template"),
    Page("project-instructions", "slug"),
    Page("instructions-edit", "kind"),
    Page("instructions-preview", "kind"),
    Page("instructions-version", "version"),
    Page("project-review", "slug"),
    Page("project-pay", "slug"),
    Page("project-pay-csv", "slug"),
    Page("project-people", "slug"),
    acts("member-add", "slug", researcher=FORBIDDEN, username="ada", role="admin"),
    Page("member-role", "member", post={"role": "researcher"}, researcher=FORBIDDEN, admin=MOVED),
    Page("project-money", "slug"),
    Page("project-ledger-csv", "slug"),
    acts("batch-cap", "batch", researcher=FORBIDDEN, cap="500"),
    Page("project-consent", "slug"),
    Page("project-history", "slug", researcher=FORBIDDEN),
    Page("batch-detail", "batch"),
    Page("batch-review", "batch"),
    Page("batch-results", "batch"),
    Page("results-file", "batch", post={}),
    Page("results-upload", "batch", post={}, researcher=400, admin=400),
    acts("batch-sync", "batch"),
    acts("batch-publish", "batch"),
    acts("batch-read-records", "batch"),
    acts("batch-close", "batch"),
    Page("batch-extend", "batch"),
    acts("batch-extend-again", "batch"),
    acts("batch-instructions", "batch", version="1", instead_of="0"),
    acts("batch-approve-all", "batch", last="0"),
    Page("batch-reconcile", "batch"),
    acts("reconcile-compare", "batch"),
    acts("reconcile-hit", "batch", act="expire", hit_id="3NONE"),
    Page("reconcile-assignment", "shown"),
    Page("reconcile-submission", "stored"),
    Page("batch-top-up", "batch"),
    Page("assignment-detail", "assignment"),
    acts("decide", "assignment", verdict="approve"),
    acts("override", "assignment"),
    acts("pay-again", "assignment"),
    Page("job-detail", "job"),
    acts("job-cancel", "job"),
    acts("job-resume", "job"),
    Page("job-log", "job"),
    Page("api-job", "job"),
]


@dataclass
class World:
    """One project with a batch, a submission that waits, and a job."""

    project: Project
    batch: Batch
    assignment: Assignment
    job: Job
    member: User
    template: TaskTemplate

    def url(self, page: Page) -> str:
        """The page's address in this world."""
        keys: dict[str, list[Any]] = {
            "": [],
            "slug": [self.project.slug],
            "member": [self.project.slug, self.member.pk],
            "kind": [self.project.slug, self.batch.kind],
            "version": [self.project.slug, self.batch.kind, 1],
            "batch": [self.batch.pk],
            "template": [self.project.slug, self.template.pk],
            "assignment": [self.assignment.pk],
            "shown": [self.batch.pk, self.assignment.pk],
            "stored": [self.batch.pk, self.assignment.submission_id],
            "job": [self.job.pk],
            "image": [self.project.slug, self.project.images.earliest("pk").pk],
        }
        return reverse(page.name, args=keys[page.key])


@pytest.fixture
def world(project: Project, researcher: User, make_image: Callable[..., Image]) -> World:
    market.fund()
    batch = published(project, [make_image(1), make_image(2)])
    market.work(Hit.objects.order_by("pk")[0], market.market_worker())
    (assignment,) = collected(batch)
    instructions.publish_instructions(
        project=project,
        kind_name=batch.kind,
        text=InstructionText("Look.", "Twice."),
        note="New",
        based_on=0,
        by=None,
    )
    template = template_launch.save_template(project=project, name="Old page", html="<p>${a}</p>", by=None)
    return World(project, batch, assignment, Job.objects.get(), researcher, template)


def call(client: Client, world: World, page: Page) -> Any:
    url = world.url(page)
    return client.get(url) if page.post is None else client.post(url, page.post)


def test_every_address_has_a_row() -> None:
    named = {pattern.name for pattern in urls.urlpatterns if isinstance(pattern, URLPattern)}
    rows = [page.name for page in PAGES]
    assert len(rows) == len(set(rows))
    assert named - TESTED_IN_OTHER_FILES == set(rows)


def test_page_access_by_role(
    subtests: pytest.Subtests, world: World, annotator: User, outsider: User, researcher: User, admin: User
) -> None:
    world.project.memberships.create(user=annotator, role=Role.ANNOTATOR)  # a member who may do tasks only
    before = Assignment.objects.get().status
    for page in PAGES:
        with subtests.test(page.name), undone():
            client = Client()
            reply = call(client, world, page)
            if page.name.startswith("api-"):
                assert reply.status_code == FORBIDDEN
            else:
                assert reply.status_code == MOVED
                assert reply.headers["Location"].startswith(reverse("login"))
            expected = [
                (annotator, page.strangers if page.annotator is None else page.annotator),
                (outsider, page.strangers),
                (researcher, page.researcher),
                (admin, page.admin),
            ]
            for user, status in expected:
                client.force_login(user)
                assert call(client, world, page).status_code == status, user
                if user in {annotator, outsider}:
                    assert Assignment.objects.get().status == before, "a stranger changed something"


def test_changes_require_post_and_csrf_token(subtests: pytest.Subtests, world: World, admin: User) -> None:
    strict = Client(enforce_csrf_checks=True)
    strict.force_login(admin)
    for page in PAGES:
        if page.post is not None:
            with subtests.test(page.name), undone():
                assert strict.get(world.url(page)).status_code == 405
                reply = strict.post(world.url(page), page.post)
                assert reply.status_code == FORBIDDEN
                assert b"Nothing was sent" in reply.content


def test_only_admin_publishes_consent_text(
    client: Client, project: Project, researcher: User, admin: User
) -> None:
    url = reverse("project-consent", args=[project.slug])
    client.force_login(researcher)
    assert client.post(url, {"body": "New words."}).status_code == FORBIDDEN
    client.force_login(admin)
    assert client.post(url, {"body": "New words."}).status_code == MOVED
    assert project.consent_texts.first().version == 2


def test_superuser_can_create_project(client: Client, make_user: Callable[..., User]) -> None:
    client.force_login(make_user("root", is_superuser=True))
    assert client.get(reverse("project-new")).status_code == OK
    reply = client.post(reverse("project-new"), {"name": "Kitchens"})
    assert reply.status_code == MOVED
    assert Project.objects.get(slug="kitchens").memberships.get().user.username == "root"


def test_job_without_project_is_for_superusers(
    client: Client, admin: User, make_user: Callable[..., User]
) -> None:
    job = Job.objects.create(task="hits.sweep_jobs", title="Sweep")
    client.force_login(admin)
    assert client.get(reverse("job-detail", args=[job.pk])).status_code == FORBIDDEN
    assert client.get(reverse("api-job", args=[job.pk])).status_code == ABSENT
    client.force_login(make_user("root", is_superuser=True))
    assert client.get(reverse("api-job", args=[job.pk])).status_code == OK
