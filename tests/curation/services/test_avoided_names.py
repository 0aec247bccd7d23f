"""Names that texts should not use: who sets them, which tasks have them, and the hint that they give."""

import json
from collections.abc import Callable
from io import StringIO
from pathlib import Path

import pytest
from django.contrib.auth.models import User
from django.core.management import CommandError, call_command
from django.test import Client
from django.urls import reverse

from curation.selectors.avoided_names import avoided_names
from curation.selectors.writing_units import PLANNER
from curation.services.avoided_names import MAX_LISTED_NAMES, set_avoided_names
from hits import registry
from hits.hints.card import HintRule
from hits.models import AuditEvent, Image, Project
from hits.selectors.images.images import image_facts_by_id
from hits.services.errors import Refused
from tests.support.vcr.frames import build_object_set, detection_run, write_frame

pytestmark = pytest.mark.django_db


@pytest.fixture
def images(project: Project, make_image: Callable[..., Image]) -> list[Image]:
    """Return a frame of each of two films, and a photo of none; each has two people and a dog."""
    found = [make_image(seed) for seed in range(1, 4)]
    run = detection_run(project)
    for image in found:
        build_object_set(image, run, 2, 1).save()
    write_frame(found[0], "moor")
    write_frame(found[1], "hall")
    return found


def test_units_have_the_names_of_their_film_and_of_the_project(project: Project, images: list[Image]) -> None:
    ids = [image.pk for image in images]
    assert [unit["names"] for unit in PLANNER.units(project, ids)] == [[], [], []]
    set_avoided_names(project=project, names=["Ann Lee", ""], by=None)
    set_avoided_names(project=project, names=["Bo  Holm ", "bo holm", "ann lee"], by=None, movie="moor")
    units = PLANNER.units(project, ids)
    assert [unit["names"] for unit in units] == [["Ann Lee", "Bo Holm"], ["Ann Lee"], ["Ann Lee"]]
    kind = registry.get_kind("vcr_qar")
    assert [kind.parse_unit(unit)["names"] for unit in units] == [unit["names"] for unit in units]

    draft = {"triplets": [{"question": ["Why does bo holm wait here?"], "answer": [], "rationale": []}]}
    hints = kind.own_hints(units[0], image_facts_by_id(ids), draft)
    assert [hint.quote for hint in hints if hint.rule is HintRule.GIVEN_NAME] == ["bo holm"]


def test_a_new_list_replaces_the_old_one_and_is_in_the_history(project: Project, images: list[Image]) -> None:
    set_avoided_names(project=project, names=["Bo Holm", "Ann Lee"], by=None, movie="moor")
    set_avoided_names(project=project, names=[], by=None, movie="moor")
    assert avoided_names(project) == {"moor": []}
    events = AuditEvent.objects.filter(project=project, action="names.set").order_by("pk")
    assert [(event.subject, event.data["names"]) for event in events] == [("moor", 2), ("moor", 0)]


@pytest.mark.parametrize(
    ("names", "movie", "message"),
    [
        (["Ann"], "sea", "movie sea: no clip is of that film; known films: hall, moor"),
        (["Ann", "B\u0007"], "", r"names: line 2 contains the control character U\+0007"),
        (["x" * 81], "", "names: line 1 has 81 characters: use 80 or fewer"),
        (map(str, range(MAX_LISTED_NAMES + 1)), "", "names: there are 101 names: use 100 or fewer"),
    ],
)
def test_wrong_names_are_refused_and_change_nothing(
    project: Project, images: list[Image], names: list[str], movie: str, message: str
) -> None:
    with pytest.raises(Refused, match=f"^{message}"):
        set_avoided_names(project=project, names=names, by=None, movie=movie)
    assert avoided_names(project) == {}


def test_command_reads_a_file_and_names_what_is_wrong(
    project: Project, images: list[Image], tmp_path: Path
) -> None:
    path, out = tmp_path / "cast.txt", StringIO()
    path.write_text("Ann Lee\nBo Holm\n", "utf-8")
    flags = ["--project", project.slug, "--movie", "hall", "--json"]
    call_command("set_names", path, *flags, stdout=out)
    assert json.loads(out.getvalue()) == {"project": project.slug, "movie": "hall", "names": 2}
    path.write_bytes(b"\xff")
    with pytest.raises(CommandError, match="is not UTF-8") as caught:
        call_command("set_names", path, *flags)
    assert caught.value.returncode == 2
    with pytest.raises(CommandError, match="cannot be read"):
        call_command("set_names", tmp_path / "none.txt", *flags)
    assert avoided_names(project) == {"hall": ["Ann Lee", "Bo Holm"]}


def test_page_shows_and_replaces_the_names_of_a_film(
    client: Client, researcher: User, project: Project, images: list[Image]
) -> None:
    client.force_login(researcher)
    url = reverse("names", args=[project.slug])
    page = f"{url}?film=moor"
    assert client.post(page, {"names": "Bo Holm\r\nAnn Lee"}).headers["Location"] == page
    assert "Bo Holm\nAnn Lee</textarea>" in client.get(page).content.decode()
    assert client.get(page).context["counts"] == [("moor", 2)]
    assert client.get(url).context["text"] == ""
    reply = client.post(url, {"names": "x" * 81}, follow=True)
    assert "Nothing changed: names: line 1 has 81 characters" in reply.content.decode()
    assert (
        reverse("names", args=[project.slug])
        in client.get(reverse("clips", args=[project.slug])).content.decode()
    )


def test_page_of_an_unknown_film_does_not_replace_the_names_of_the_project(
    client: Client, researcher: User, project: Project, images: list[Image]
) -> None:
    set_avoided_names(project=project, names=["Ann Lee"], by=None)
    client.force_login(researcher)
    page = f"{reverse('names', args=[project.slug])}?film=renamed"
    assert client.get(page).status_code == 404
    assert client.post(page, {"names": "Bo Holm"}).status_code == 404
    assert avoided_names(project) == {"": ["Ann Lee"]}
