"""The pages that bring scenes in: imports, and launches of writing and review."""

import re
from typing import Any

import pytest
from django.contrib.auth.models import User
from django.core.files.uploadedfile import SimpleUploadedFile
from django.test import Client
from django.urls import reverse

from curation.models import Import, Scene, SceneVerdict
from curation.services.triplets.scenes import ReaderDecision, decide_scene
from curation.services.triplets.settings import SettingsChange, change_settings
from curation.views.triplets.scene_forms import MAX_IMPORTED_BYTES, MAX_IMPORTED_ROWS
from hits.models import Batch, Project, Unit
from tests.support.market import fund
from tests.support.nleye_stored import nleye_project, store_scenes

pytestmark = pytest.mark.django_db
TERMS = {"reward": "1.50", "assignments": 1, "pool": "", "name": ""}
HEADER = "premise,plausible,implausible,category,direction,duration,domain,why\n"
GOOD = "A vase lies broken.,A cat sits on a shelf.,A cat sleeps.,physical,backward,short,other,It fell.\n"


@pytest.fixture
def triplets(project: Project, client: Client, researcher: User) -> Project:
    """Return a project with image triplets, in which a researcher is signed in."""
    client.force_login(researcher)
    return nleye_project(project)


def squeezed(reply: Any) -> str:
    return " ".join(reply.content.decode().split())


def upload(client: Client, project: Project, content: str, name: str = "scenes.csv") -> Any:
    file = SimpleUploadedFile(name, content.encode())
    return client.post(reverse("scene-import", args=[project.slug]), {"file": file, "licence": "CC BY 4.0"})


# Import


def test_import_stores_the_scenes_of_a_file_once(client: Client, triplets: Project, researcher: User) -> None:
    for new in (True, False):
        reply = upload(client, triplets, HEADER + GOOD)
        assert reply.status_code == 302
        page = squeezed(client.get(reply["Location"]))
        assert ("1 scene imported from scenes.csv." in page) is new
        assert ("scenes.csv was imported before; nothing was added." in page) is not new
    scene = Scene.objects.get()
    assert (scene.premise, scene.licence, scene.imported_row.location) == (  # type: ignore[union-attr]
        "A vase lies broken.",
        "CC BY 4.0",
        "scenes.csv, row 2",
    )
    # Who imports a file did not write its scenes, and may decide about them.
    decide_scene(scene=scene, decision=ReaderDecision(SceneVerdict.KEEP), by=researcher)


def test_import_names_file_row_and_field_of_every_problem(client: Client, triplets: Project) -> None:
    rows = [GOOD.replace("broken", f"broken in {count} pieces") for count in ("two", "three", "four")]
    bad = (
        rows[0].replace("physical", "magical"),
        rows[1].replace("short", ""),
        rows[2].replace("A cat sleeps.", "A cat sits on a shelf."),
    )
    reply = upload(client, triplets, HEADER + GOOD + "".join(bad))
    assert reply.status_code == 400
    page = squeezed(reply)
    assert "Nothing was imported: 3 problems" in page
    listed = re.findall(r'<li class="long">(.*?)</li>', page)
    assert [re.match(r"scenes.csv, row (\d), (\w+):", line).groups() for line in listed] == [  # type: ignore[union-attr]
        ("3", "category"),
        ("4", "duration"),
        ("5", "implausible"),
    ]
    assert not Scene.objects.exists()  # the good row neither
    assert not Import.objects.exists()


@pytest.mark.parametrize(
    ("content", "message"),
    [
        ("", "has no column premise"),
        ("premise,plausible\nA,B\n", "row 1: has no column implausible"),
        (HEADER, "has no rows"),
        ('{"premise": 3}\n', "row 1, premise: is not a text"),
        ('{"\\ud800": "half of a pair"}\n', "row 1, \\ud800: is unknown"),
    ],
)
def test_unusable_file_is_refused_in_one_line(
    client: Client, triplets: Project, content: str, message: str
) -> None:
    reply = upload(client, triplets, content)
    assert reply.status_code == 400
    assert message in squeezed(reply)
    assert not Import.objects.exists()


def test_larger_file_is_for_the_command(client: Client, triplets: Project) -> None:
    rows = "".join(GOOD.replace("broken", f"in {count} pieces") for count in range(MAX_IMPORTED_ROWS + 1))
    page = squeezed(upload(client, triplets, HEADER + rows))
    assert "scenes.csv: has more than 5,000 rows; split it, or use manage.py import_scenes" in page
    reply = upload(client, triplets, "x" * (MAX_IMPORTED_BYTES + 1))
    assert reply.status_code == 400
    assert "It has 4,000,001 bytes; this page reads at most 4,000,000: split it, or" in squeezed(reply)
    assert not Import.objects.exists()


def test_import_without_a_file_names_the_field(client: Client, triplets: Project) -> None:
    reply = client.post(reverse("scene-import", args=[triplets.slug]), {"licence": "CC0"})
    assert reply.status_code == 400
    assert '<a href="#import_file">File</a>: This field is required.' in squeezed(reply)


# Launches


def launch_in_two_steps(client: Client, address: str, data: dict[str, Any]) -> tuple[str, Any]:
    """Return the page with the cost, and the reply to its confirmation."""
    fund()
    shown = client.post(address, data | {"step": "estimate"})
    assert shown.status_code == 200, squeezed(shown)
    page = squeezed(shown)
    fields = dict(re.findall(r'<input type="hidden" name="(\w+)" value="(.*?)">', page))
    fields.pop("csrfmiddlewaretoken", None)
    typed = re.search(r'placeholder="([\d.]+)"', page)
    return page, client.post(address, fields | {"step": "launch", "typed_cost": typed[1] if typed else ""})


def test_writing_fills_in_what_targets_miss_and_asks_for_it(
    client: Client, triplets: Project, researcher: User
) -> None:
    scenes = store_scenes(triplets, 1)  # physical, parallel
    decide_scene(scene=scenes[0], decision=ReaderDecision(SceneVerdict.KEEP), by=researcher)
    targets = {"physical": {"parallel": 3}, "social": {"": 1}}
    change_settings(project=triplets, change=SettingsChange(targets=targets), by=researcher)
    address = reverse("scene-launch", args=[triplets.slug])
    page = squeezed(client.get(address))
    form = dict(re.findall(r'<input type="number" name="(\w+)" value="(\d+)"', page))
    assert form["count"] == "3"
    assert (form["quota_physical"], form["quota_social"]) == ("2", "1")
    data = {"count": 5, "quota_physical": 2, "quota_social": 1} | TERMS
    shown, reply = launch_in_two_steps(client, address, data)
    assert "7.50" in shown  # five tasks of $1.50, before fees
    batch = Batch.objects.get()
    assert reply["Location"] == reverse("batch-detail", args=[batch.pk])
    asked = sorted(unit.payload["category"] for unit in Unit.objects.filter(batch=batch))
    assert asked == ["", "", "physical", "physical", "social"]
    assert (batch.kind, batch.reward_cents, batch.redundancy) == ("nleye_scene", 150, 1)


def test_writing_refuses_more_categories_than_scenes(client: Client, triplets: Project) -> None:
    data = {
        "count": 2,
        "quota_physical": 3,
        "reward": "1.50",
        "assignments": 1,
        "pool": "",
        "step": "estimate",
    }
    reply = client.post(reverse("scene-launch", args=[triplets.slug]), data)
    assert reply.status_code == 400
    assert "The categories ask for 3 scenes: raise the number, or ask for fewer." in squeezed(reply)
    assert not Batch.objects.exists()


def test_review_asks_about_the_oldest_open_scenes_once(client: Client, triplets: Project) -> None:
    scenes = store_scenes(triplets, 3)
    address = reverse("scene-review-launch", args=[triplets.slug])
    data = {"count": 2, "gold": 0, "reward": "0.25", "assignments": 3, "pool": "", "name": ""}
    _, reply = launch_in_two_steps(client, address, data)
    batch = Batch.objects.get()
    assert reply["Location"] == reverse("batch-detail", args=[batch.pk])
    assert sorted(batch.units.values_list("key", flat=True)) == sorted(row.public_id for row in scenes[:2])
    page = squeezed(client.get(address))
    assert "Of 1 open ones without reviews" in page
    refused = client.post(address, data | {"step": "estimate"})
    assert refused.status_code == 400
    assert "Use at most 1: no more open scenes are left." in squeezed(refused)


def test_review_without_open_scenes_names_what_is_missing(client: Client, triplets: Project) -> None:
    address = reverse("scene-review-launch", args=[triplets.slug])
    assert "No scene to review" in squeezed(client.get(address))
    client.post(address, {"count": 1, "reward": "0.25", "assignments": 3, "pool": "", "step": "launch"})
    assert not Batch.objects.exists()


@pytest.mark.parametrize("count", [1, 2])
def test_search_for_twins_is_a_job(client: Client, triplets: Project, count: int) -> None:
    store_scenes(triplets, count)
    reply = client.post(reverse("scene-twins", args=[triplets.slug]), follow=True)
    page = squeezed(reply)
    assert ("Not started: scenes: there are fewer than two to compare." in page) is (count == 1)
    assert ("data-job-url" in page) is (count == 2)
