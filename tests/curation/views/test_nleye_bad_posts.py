"""Requests that no page of ours sends: each gets a reply that says what is wrong, and stores nothing."""

from typing import Any

import pytest
from django.contrib.auth.models import User
from django.test import Client
from django.urls import reverse

from curation.models import ModelRun, Scene, SceneDecision
from hits.models import Project
from tests.support.nleye_stored import (
    approve_prompts,
    keep_scenes,
    nleye_project,
    store_image,
    store_scenes,
)
from tests.support.pages import squeezed

pytestmark = pytest.mark.django_db
NO_NUMBERS = ("", "x", "1.5", "-1", "٣", "9" * 30, "9" * 5000)


@pytest.fixture
def scene(project: Project, client: Client, researcher: User) -> Scene:
    """A scene of a project in which a researcher is signed in."""
    client.force_login(researcher)
    return store_scenes(nleye_project(project), 1)[0]


def post(client: Client, scene: Scene, **data: Any) -> Any:
    address = reverse("scene-decide", args=[scene.project.slug, scene.pk])
    return client.post(address, data, headers={"Accept": "application/json"})


@pytest.mark.parametrize("seen", NO_NUMBERS)
def test_verdict_without_a_number_of_the_page_is_out_of_date(client: Client, scene: Scene, seen: str) -> None:
    reply = post(client, scene, verdict="keep", seen=seen)
    if seen == "٣":  # 3 in other digits is a number, of a page that there never was
        assert reply.status_code == 409
    else:
        message = "Not stored: seen: The page is out of date: reload it."
        assert (reply.status_code, reply.json()["message"]) == (400, message)
    assert post(client, scene, verdict="undone", seen=seen).status_code == 409
    assert not SceneDecision.objects.exists()


def test_region_that_is_nested_deeply_is_refused(client: Client, scene: Scene, researcher: User) -> None:
    keep_scenes([scene], researcher)
    approve_prompts([scene], researcher)
    image = store_image(scene, "premise", generator="drawing", seed=1)
    address = reverse("scene-image", args=[scene.project.slug, image.pk])
    data = {"way": "region", "mask": "[" * 2000, "generator": "drawing", "cap_usd": "0", "strength": "0.5"}
    reply = client.post(address, data)
    assert reply.status_code == 400
    assert "The region cannot be read" in squeezed(reply)
    assert not ModelRun.objects.exists()


@pytest.mark.parametrize("number", NO_NUMBERS)
def test_new_run_after_a_run_that_there_is_not_has_the_defaults(
    client: Client, scene: Scene, number: str
) -> None:
    address = reverse("scene-image-run-new", args=[scene.project.slug])
    assert client.get(address, {"run": number}).status_code == 200
