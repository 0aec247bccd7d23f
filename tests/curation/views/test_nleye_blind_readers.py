"""The second of two readers decides without knowing the first verdict; what was not blind is marked."""

import re

import pytest
from django.contrib.auth.models import User
from django.test import Client
from django.urls import reverse

from curation.models import Scene, SceneDecision, SceneReason, SceneVerdict
from curation.selectors.triplets.blind_verdicts import informed_decisions
from curation.services.triplets.scenes import ReaderDecision, decide_scene, undo_decision
from curation.services.triplets.settings import SettingsChange, change_settings
from hits.models import Project
from tests.support.nleye_stored import nleye_project, store_scenes
from tests.support.pages import squeezed

pytestmark = pytest.mark.django_db
DROP = ReaderDecision(SceneVerdict.DROP, [SceneReason.UNSAFE], note="ask the lawyers")
KEEP = ReaderDecision(SceneVerdict.KEEP)


@pytest.fixture
def scene(project: Project, admin: User) -> Scene:
    """A scene about which two readers decide."""
    nleye_project(project)
    change_settings(project=project, change=SettingsChange(readers=2), by=admin)
    return store_scenes(project, 1)[0]


def test_history_of_the_project_shows_a_second_reader_no_verdict(
    client: Client, scene: Scene, researcher: User, admin: User
) -> None:
    decide_scene(scene=scene, decision=DROP, by=researcher)
    client.force_login(admin)
    page = squeezed(client.get(reverse("project-history", args=[scene.project.slug])))
    (event,) = re.findall(r"<tr>(?:(?!</tr>).)*Decided about a scene.*?</tr>", page)
    text = re.sub(r"<[^>]+>", " ", event).lower()
    assert not re.search(r"\b(keep|drop|revise|unsafe|verdict)", text), text
    own = squeezed(client.get(reverse("scene", args=[scene.project.slug, scene.pk])))
    assert "lawyers" not in own


def test_verdict_after_the_other_was_seen_is_marked(
    client: Client, scene: Scene, researcher: User, admin: User
) -> None:
    decide_scene(scene=scene, decision=DROP, by=researcher)
    decide_scene(scene=scene, decision=KEEP, by=admin)  # both see both from here
    undo_decision(scene=scene, by=admin)
    decide_scene(scene=scene, decision=DROP, by=admin)
    rows = list(SceneDecision.objects.order_by("pk"))
    assert informed_decisions(rows, 2) == {rows[-1].pk}
    client.force_login(admin)
    page = squeezed(client.get(reverse("scene", args=[scene.project.slug, scene.pk])))
    assert page.count("(not blind: could see another verdict before)") == 1


def test_verdicts_are_blind_until_two_stand_together(
    scene: Scene, researcher: User, admin: User, annotator: User
) -> None:
    decide_scene(scene=scene, decision=KEEP, by=researcher)
    undo_decision(scene=scene, by=researcher)
    decide_scene(scene=scene, decision=KEEP, by=admin)  # alone: the other was taken back
    decide_scene(scene=scene, decision=KEEP, by=researcher)
    rows = list(SceneDecision.objects.order_by("pk"))
    assert informed_decisions(rows, 2) == set()
    decide_scene(scene=scene, decision=DROP, by=annotator)  # a third one, who sees both
    third = SceneDecision.objects.latest("pk")
    assert informed_decisions([*rows, third], 2) == {third.pk}
    assert informed_decisions([*rows, third], 1) == set()
