"""Hostile input on the console, in addresses and in logs."""

import logging
from collections.abc import Callable
from typing import Any

import pytest
from django.conf import settings
from django.contrib.auth.models import User
from django.core.files.uploadedfile import SimpleUploadedFile
from django.test import Client
from django.urls import reverse

from annotation_site.logs import SecretFilter
from hits.marketplace.errors import ActionRefused
from hits.models import Batch, Image, Project
from tests.support import market
from tests.support.loop import launched
from tests.support.pictures import picture

pytestmark = pytest.mark.django_db
MakeImage = Callable[..., Image]


@pytest.fixture
def console(researcher: User) -> Client:
    """Return a researcher's browser."""
    client = Client(raise_request_exception=False)
    client.force_login(researcher)
    return client


@pytest.mark.parametrize("last", ["9" * 5000, "9" * 19, "-1", "٣", ""])
def test_approve_all_with_invalid_last_row_approves_nothing(
    console: Client, project: Project, make_image: MakeImage, last: str
) -> None:
    batch = launched(project, [make_image(1)])
    reply = console.post(reverse("batch-approve-all", args=[batch.pk]), {"last": last}, follow=True)
    assert reply.status_code == 200
    assert "Nothing was approved" in reply.text


@pytest.mark.parametrize(
    "path", ["/work/tasks/%00", "/projects/%00/", "/sign-in/?next=%00", "/work/groups/a%00b/preview"]
)
def test_nul_in_url_is_bad_request(console: Client, path: str) -> None:
    assert console.get(path).status_code == 400


def test_nul_in_form_is_refused_at_field_and_not_stored(console: Client, project: Project) -> None:
    files = SimpleUploadedFile("a.png", picture(), content_type="image/png")
    reply = console.post(reverse("project-images", args=[project.slug]), {"files": files, "credit": "a\x00b"})
    assert reply.status_code == 400
    assert "credit" in reply.text
    assert not Image.objects.exists()


def _confirmed(console: Client, project: Project) -> dict[str, str]:
    """Return what the confirming page would send."""
    form = {"name": "Kitchens", "reward": "1.10", "bonus": "0.15", "assignments": "1", "which": "first"}
    form |= {"first": "1", "step": "estimate"}
    reply = console.post(reverse("batch-new", args=[project.slug]), form)
    return form | {"step": "launch", "idempotency_key": reply.context["idempotency_key"]}


def test_pressing_launch_twice_launches_once(
    console: Client, project: Project, make_image: MakeImage
) -> None:
    market.fund()
    for seed in range(3):
        make_image(seed)
    form = _confirmed(console, project)
    url = reverse("batch-new", args=[project.slug])
    replies = [console.post(url, form) for _ in range(2)]
    batch = Batch.objects.get()
    assert {reply.headers["Location"] for reply in replies} == {reverse("batch-detail", args=[batch.pk])}
    console.post(url, _confirmed(console, project))
    assert Batch.objects.count() == 2  # a new idempotency key is a new batch


@pytest.mark.django_db(transaction=True)
def test_balance_above_display_limit_is_refused(
    console: Client, project: Project, make_image: MakeImage
) -> None:
    batch = launched(project, [make_image(1)])
    market.fund(99_999_999_999)
    for more in (1, 10**18):
        with pytest.raises(ActionRefused, match="too large"):
            market.fund(more)
    reply = console.get(reverse("batch-detail", args=[batch.pk]))
    assert reply.status_code == 200


@pytest.mark.parametrize("spelling", ["{name}", "{name}:1", "{name}.:8000"])
def test_no_spelling_of_the_hit_origin_reaches_the_console(client: Client, spelling: str) -> None:
    name = settings.HIT_ORIGIN.removeprefix("http://").partition(":")[0]
    assert client.get("/sign-in/", headers={"host": spelling.format(name=name)}).status_code == 404


def test_attempt_secret_is_not_logged(client: Client, caplog: Any) -> None:
    secret = "5e" * 32
    handler = next(
        found
        for found in logging.getLogger().handlers
        if any(isinstance(each, SecretFilter) for each in found.filters)
    )
    with caplog.at_level(logging.WARNING, "django.request"):
        client.put(f"/a/{secret}/mturk/externalSubmit")
        client.post(f"/a/{secret}/mturk/elsewhere")
    assert len(caplog.records) == 2
    for record in caplog.records:
        assert handler.filter(record)
        assert secret not in handler.format(record)


@pytest.mark.parametrize("at", ["9" * 5000, "-1", "٣", "1e3"])
def test_invalid_queue_position_means_first(console: Client, project: Project, at: str) -> None:
    assert console.get(reverse("project-review", args=[project.slug]), {"at": at}).status_code == 200


@pytest.mark.django_db(transaction=True)
def test_approve_all_after_fee_change_shows_message(
    console: Client, project: Project, make_image: MakeImage, settings: Any
) -> None:
    batch = launched(project, [make_image(1)])
    settings.MARKETPLACE_FEE_SCHEDULE = "amazon"
    reply = console.post(reverse("batch-approve-all", args=[batch.pk]), {"last": "9"}, follow=True)
    assert reply.status_code == 200
    assert "Nothing was approved: " in reply.text
    assert "to continue this batch" in reply.text
