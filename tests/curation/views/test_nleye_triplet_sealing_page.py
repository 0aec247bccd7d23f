"""What the pages of triplets say of sealing, of facets that a check changed, and of the balance of gold."""

from typing import Any

import pytest
from django.contrib.auth.models import User
from django.test import Client
from django.urls import reverse

from curation.models import ImageTriplet
from curation.services.triplets.images import PickOrigin, pick_image, release_image
from curation.services.triplets.scenes import undo_decision
from curation.services.triplets.triplets import build_triplets
from hits.models import Project
from tests.support import nleye_stored as stored
from tests.support.pages import squeezed

pytestmark = pytest.mark.django_db
DRAWING = "an image is a test drawing, which rehearsals alone may seal"
UNKNOWN = "an image has an unknown licence"
FLAGGED = "a safety checker flagged an image, and nobody released it"


@pytest.fixture
def console(client: Client, researcher: User) -> Client:
    client.force_login(researcher)
    return client


def url(project: Project, name: str, *more: Any) -> str:
    return reverse(name, args=[project.slug, *more])


@pytest.fixture
def disputed(project: Project, researcher: User) -> list[ImageTriplet]:
    """Three judged triplets."""
    return stored.judged_triplets(project, 3, researcher)


def test_what_a_check_changed_is_shown_and_filtered(
    console: Client, project: Project, disputed: list[ImageTriplet], researcher: User
) -> None:
    scene = disputed[0].scene
    here = url(project, "image-triplets")
    assert " changed: " not in squeezed(console.get(here))
    assert "No triplet matches" in squeezed(console.get(here, {"changed": "on"}))
    given = dict.fromkeys(("alignment_premise", "alignment_h1", "alignment_h2"), "yes") | {
        "category": "cultural" if scene.category != "cultural" else "social",
        "direction": scene.direction,
        "duration": scene.duration,
        "domain": scene.domain,
        "seen": str(disputed[0].checks.get().pk),
    }
    check = url(project, "image-triplet-check", disputed[0].pk)
    assert console.post(check, given).status_code == 302
    changed = (
        f"Category changed: {scene.category.capitalize()} → {given['category'].capitalize()}, "
        f"by {researcher.get_username()}"
    )
    for page in (
        console.get(here, {"changed": "on"}),
        console.get(url(project, "image-triplet", disputed[0].pk)),
    ):
        assert changed in squeezed(page)
        assert f"Triplet {disputed[1].pk}</b>" not in squeezed(page)


def test_balance_counts_gold_by_category_as_it_stands(
    console: Client, project: Project, disputed: list[ImageTriplet], researcher: User
) -> None:
    counts: dict[str, list[int]] = {}
    for row in disputed:
        counts.setdefault(row.scene.category, [0, 0])[row.gold - 1] += 1
    text = squeezed(console.get(url(project, "image-triplets")))
    assert "Gold is hypothesis 1 / hypothesis 2:" in text
    for category, (first, second) in counts.items():
        assert f"{category.capitalize()} {first} / {second}<" in text


def judged_triplet(project: Project, by: User, **more: Any) -> ImageTriplet:
    """Return a triplet that lacks nothing, whose images have some provenance of their own."""
    scenes = stored.store_scenes(stored.nleye_project(project), 1)
    stored.keep_scenes(scenes, by)
    for role in stored.ROLES:
        image = stored.store_image(scenes[0], role, **more)
        if image.flags:
            release_image(image=image, is_safe=True, by=by)
        pick_image(scene=scenes[0], role=role, image=image, by=by, origin=PickOrigin.QUEUE)
    (triplet,) = build_triplets(project=project, by=by).triplets
    stored.explain([triplet], by)
    stored.judge(project, {triplet.public_id: ("right", "right", "right")}, by)
    return triplet


def texts(console: Client, triplet: ImageTriplet) -> list[str]:
    """Return the list and the triplet's page."""
    pages = (("image-triplets", ()), ("image-triplet", (triplet.pk,)))
    return [squeezed(console.get(url(triplet.project, name, *keys))) for name, keys in pages]


@pytest.mark.parametrize(
    ("more", "reason"), [({"licence": "Unknown"}, UNKNOWN), ({"generator": "drawing"}, DRAWING)]
)
def test_whatever_sealing_refuses_is_named(
    console: Client, project: Project, researcher: User, more: dict[str, Any], reason: str
) -> None:
    triplet = judged_triplet(project, researcher, **more)
    for text in texts(console, triplet):
        assert reason in text
        assert "Nothing blocks it." not in text
    Project.objects.filter(pk=project.pk).update(is_rehearsal=True)
    assert all(reason not in text for text in texts(console, triplet))
    assert "Nothing blocks it." in texts(console, triplet)[0]


def test_image_that_is_hidden_again_blocks_its_triplet(
    console: Client, project: Project, researcher: User
) -> None:
    triplet = judged_triplet(project, researcher, flags=["nsfw"])
    assert "Nothing blocks it." in texts(console, triplet)[0]
    release_image(image=triplet.premise, is_safe=False, by=researcher)
    assert FLAGGED in texts(console, triplet)[1]
    assert "Nothing blocks it." not in texts(console, triplet)[0]


def test_scene_that_is_no_longer_kept_blocks_its_triplet(
    console: Client, project: Project, researcher: User
) -> None:
    triplet = judged_triplet(project, researcher)
    assert "Nothing blocks it." in texts(console, triplet)[0]
    undo_decision(scene=triplet.scene, by=researcher, seen=triplet.scene.decisions.latest("pk").pk)
    assert "Nothing blocks it." not in texts(console, triplet)[0]
