"""The pages of image triplets and explanations: who may see them, lists, forms, decisions, rounds of workers."""

import re
from typing import Any

import pytest
from django.contrib.auth.models import User
from django.test import Client
from django.urls import reverse
from django.utils import timezone

from curation.models import (
    ExplanationSource,
    ImageTriplet,
    TripletCheck,
    TripletDecision,
    TripletExplanation,
)
from curation.selectors.triplets.triplets import TripletState, triplet_facts
from hits.models import Batch, Image, Project, Unit
from hits.services import projects
from tests.support import nleye_stored as stored
from tests.support.judging.work import Work
from tests.support.market import fund
from tests.support.pages import squeezed

pytestmark = pytest.mark.django_db
CHECK = {
    "alignment_premise": "yes",
    "alignment_h1": "yes",
    "alignment_h2": "partly",
    "category": "social",
    "direction": "backward",
    "duration": "long",
    "domain": "education",
    "note": "The ball is missing.",
    "seen": "0",
}
ACTS = (
    "image-triplets-build",
    "image-triplets-take-in",
    "image-triplet-check",
    "image-triplet-gold",
    "image-triplet-decide",
    "triplet-explanations-take-in",
)


@pytest.fixture
def console(client: Client, researcher: User) -> Client:
    client.force_login(researcher)
    return client


@pytest.fixture
def triplet(project: Project, researcher: User) -> ImageTriplet:
    """A draft triplet."""
    (found,) = stored.store_triplets(project, 1, researcher)
    return found


@pytest.fixture
def disputed(project: Project, researcher: User) -> list[ImageTriplet]:
    """Two triplets whose majority is against gold, and one whose majority is gold."""
    found = stored.store_triplets(project, 3, researcher)
    stored.explain(found, researcher)
    choices = [("wrong", "wrong", "right")] * 2 + [("right", "right", "wrong")]
    stored.judge(
        project, {row.public_id: given for row, given in zip(found, choices, strict=True)}, researcher
    )
    return found


def url(project: Project, name: str, *more: Any) -> str:
    return reverse(name, args=[project.slug, *more])


def state(triplet: ImageTriplet) -> TripletState:
    (facts,) = triplet_facts(triplet.project, [triplet])
    return facts.state


def places(triplet: ImageTriplet) -> dict[str, str]:
    """Every address of these pages with the method that it takes, by its name."""
    from curation.urls_triplets import urlpatterns

    found = {}
    for pattern in urlpatterns:
        name = str(pattern.name)
        if name.startswith(("image-triplet", "triplet-explanation")):
            keys = [triplet.pk] if "triplet_id" in str(pattern.pattern) else []
            found[url(triplet.project, name, *keys)] = "post" if name in ACTS else "get"
    return found


def test_every_address_is_closed_to_others(
    client: Client, triplet: ImageTriplet, researcher: User, outsider: User, annotator: User
) -> None:
    found = places(triplet)
    assert len(found) == 13
    guarded = Client(enforce_csrf_checks=True)
    guarded.force_login(researcher)
    for place, method in found.items():
        assert getattr(Client(), method)(place).status_code == 302, place
        for stranger in (outsider, annotator):
            client.force_login(stranger)
            assert getattr(client, method)(place).status_code == 404, place
        client.force_login(researcher)
        if method == "get":
            assert client.get(place).status_code == 200, place
        else:
            assert client.get(place).status_code == 405, place
            assert guarded.post(place).status_code == 403, place
    Project.objects.filter(pk=triplet.project_id).update(family="sherlock")
    for place, method in found.items():
        assert getattr(client, method)(place).status_code == 404, place


def test_another_projects_triplet_is_absent(triplet: ImageTriplet, admin: User) -> None:
    other = stored.nleye_project(projects.create_project(name="Other triplets", by=admin))
    root = Client()
    root.force_login(User.objects.create_superuser("root"))
    assert root.get(url(other, "image-triplet", triplet.pk)).status_code == 404
    assert root.post(url(other, "image-triplet-gold", triplet.pk), {"text": "Because."}).status_code == 404
    assert root.get(url(triplet.project, "image-triplet", triplet.pk)).status_code == 200


def test_reading_the_pages_writes_nothing(console: Client, disputed: list[ImageTriplet]) -> None:
    tables = (ImageTriplet, TripletCheck, TripletExplanation, TripletDecision, Batch, Unit)
    before = [table.objects.count() for table in tables]
    for place, method in places(disputed[0]).items():
        if method == "get":
            assert console.get(place).status_code == 200
    assert [table.objects.count() for table in tables] == before


def test_triplets_are_built_from_picked_images(console: Client, project: Project, researcher: User) -> None:
    scenes = stored.store_scenes(stored.nleye_project(project), 2)
    stored.keep_scenes(scenes, researcher)
    here = url(project, "image-triplets")
    assert "No triplet yet" in squeezed(console.get(here))
    stored.pick_images(scenes, researcher)
    assert "2 scenes are complete: three images are picked." in squeezed(console.get(here))
    build = url(project, "image-triplets-build")
    assert "2 new triplets." in squeezed(console.post(build, follow=True))
    assert "Nothing to build" in squeezed(console.post(build, follow=True))
    assert ImageTriplet.objects.count() == 2
    other = stored.store_image(scenes[0], "a", seed=5)
    stored.pick_image(scene=scenes[0], role="a", image=other, by=researcher)
    assert "1 new triplet. 1 older one of other picks dropped." in squeezed(console.post(build, follow=True))


def test_list_shows_state_votes_and_blocks(console: Client, disputed: list[ImageTriplet]) -> None:
    here = url(disputed[0].project, "image-triplets")
    text = squeezed(console.get(here))
    assert text.count("Against gold</span>") == 2
    assert text.count("<b>1 of 3</b> for gold") == 2
    assert text.count("<b>2 of 3</b> for gold") == 1
    assert text.count("the majority is against gold: decide") == 2
    assert "2 triplets wait for a decision: most people chose the other hypothesis." in text
    narrowed = squeezed(console.get(here, {"votes": "with"}))
    assert f"Triplet {disputed[2].pk}</b>" in narrowed
    assert f"Triplet {disputed[0].pk}</b>" not in narrowed
    for wrong in ({"votes": "x"}, {"state": "y"}, {"page": "99"}):
        assert console.get(here, wrong).status_code == 200
    assert "No triplet matches" in squeezed(console.get(here, {"state": "dropped"}))


def test_draft_lists_what_it_lacks_until_it_is_explained_and_checked(
    console: Client, triplet: ImageTriplet
) -> None:
    here = url(triplet.project, "image-triplet", triplet.pk)
    text = squeezed(console.get(here))
    assert (
        "no gold explanation; nobody checked whether the images show their texts; 3 answers missing" in text
    )
    gold = url(triplet.project, "image-triplet-gold", triplet.pk)
    empty = console.post(gold, {"text": "  ", "seen": 0})
    assert empty.status_code == 400
    assert 'id="gold_text_error"' in squeezed(empty)
    assert console.post(gold, {"text": "The ball  hit it.", "seen": 0}).status_code == 302
    check = url(triplet.project, "image-triplet-check", triplet.pk)
    assert console.post(check, CHECK).status_code == 302
    assert "hypothesis 2 shows its text only partly" in squeezed(console.get(here))
    assert state(triplet) is TripletState.DRAFT
    seen = str(triplet.checks.get().pk)
    assert console.post(check, CHECK | {"alignment_h2": "yes", "seen": seen}).status_code == 302
    assert state(triplet) is TripletState.ALIGNED
    text = squeezed(console.get(here))
    assert "The ball hit it." in text
    assert "Social · Backward, long · Education" in text


BAD_CHECKS: list[tuple[dict[str, str], str]] = [
    ({"alignment_h1": ""}, "This field is required."),
    ({"alignment_h1": "maybe"}, "Select a valid choice"),
    ({"direction": "parallel"}, "Leave it out: a parallel scene has no duration."),
    ({"duration": ""}, "Use short or long"),
    ({"category": "magic"}, "Select a valid choice"),
    ({"note": "x" * 401}, "at most 400 characters"),
]


def test_bad_checks_name_their_field(console: Client, triplet: ImageTriplet) -> None:
    for data, message in BAD_CHECKS:
        reply = console.post(url(triplet.project, "image-triplet-check", triplet.pk), CHECK | data)
        assert reply.status_code == 400, data
        assert message in squeezed(reply), data
    assert not TripletCheck.objects.exists()


def hidden(page: str, form: str) -> str:
    """Return the hidden ``seen`` of the form of an address."""
    found = re.search(rf'action="{form}".*?name="seen" value="(\d+)"', page, re.DOTALL)
    assert found is not None
    return found[1]


def test_gold_explanation_and_check_of_a_stale_page_are_refused_and_stay_in_the_form(
    console: Client, triplet: ImageTriplet, researcher: User
) -> None:
    forms = {
        url(triplet.project, "image-triplet-gold", triplet.pk): {"text": "My careful words."},
        url(triplet.project, "image-triplet-check", triplet.pk): CHECK,
    }
    page = squeezed(console.get(url(triplet.project, "image-triplet", triplet.pk)))
    stored.explain([triplet], researcher)
    for form, data in forms.items():
        reply = console.post(form, data | {"seen": hidden(page, form)})
        assert reply.status_code == 409, form
        text = squeezed(reply)
        assert "after you opened the page" in text, form
        assert (data.get("text") or data["note"]) in text, form
        assert console.post(form, data | {"seen": hidden(text, form)}).status_code == 302, form
    texts = list(triplet.explanations.order_by("pk").values_list("text", flat=True))
    assert len(texts) == 2
    assert texts[-1] == "My careful words."
    assert triplet.checks.count() == 2


def test_image_that_was_taken_down_is_named(console: Client, triplet: ImageTriplet) -> None:
    Image.objects.filter(pk=triplet.a.image_id).update(taken_down_at=timezone.now())
    text = squeezed(console.get(url(triplet.project, "image-triplet", triplet.pk)))
    assert "An image of this triplet was taken down" in text
    assert triplet.a.image.file.name not in text
    assert "No triplet yet" in squeezed(console.get(url(triplet.project, "image-triplets")))


# Decisions


def test_queue_asks_about_one_triplet_after_the_other(
    console: Client, disputed: list[ImageTriplet], researcher: User
) -> None:
    first, second, _ = disputed
    here = url(first.project, "image-triplet-queue")
    text = squeezed(console.get(here))
    assert f"Triplet {first.pk}</b>" in text
    assert "2 to decide" in text
    assert re.findall(r">W-\d+</a>", text), "people appear as W-ids"
    decide = url(first.project, "image-triplet-decide", first.pk)
    given = {"verdict": "keep", "seen": "0", "from": "queue", "note": ""}
    without = console.post(decide, given)
    assert without.status_code == 400
    assert "Say why the triplet stays although most people chose the other hypothesis." in squeezed(without)
    assert not TripletDecision.objects.exists()
    assert console.post(decide, given | {"note": "Lamps break so."}).status_code == 302
    stale = console.post(decide, given | {"verdict": "drop"})
    assert stale.status_code == 409
    assert "somebody decided about it after you opened the page; reload the page" in squeezed(stale)
    assert TripletDecision.objects.get().verdict == "keep"
    assert f"Triplet {second.pk}</b>" in squeezed(console.get(here))
    other = url(first.project, "image-triplet-decide", second.pk)
    assert console.post(other, given | {"verdict": "revise"}).status_code == 302
    assert state(second) is TripletState.TO_REVISE
    assert "Nothing to decide" in squeezed(console.get(here))
    kept = squeezed(console.get(url(first.project, "image-triplet", first.pk)))
    assert "Lamps break so." in kept
    assert f"by {researcher.username}" in kept


def test_bad_decisions_are_refused(console: Client, triplet: ImageTriplet) -> None:
    for data in ({"verdict": "burn"}, {"seen": "x"}, {"seen": ""}, {"note": "x" * 401}, {"verdict": ""}):
        given = {"verdict": "drop", "seen": "0", "note": ""} | data
        reply = console.post(url(triplet.project, "image-triplet-decide", triplet.pk), given)
        assert reply.status_code == 400, data
    assert not TripletDecision.objects.exists()


def test_queries_do_not_grow(
    console: Client, project: Project, researcher: User, django_assert_max_num_queries: Any
) -> None:
    work = Work(project)
    first = stored.store_triplets(project, 2, researcher)
    stored.explain(first, researcher)
    stored.judge(
        project, {row.public_id: ("wrong", "wrong", "right") for row in first}, researcher, work=work
    )
    console.post(url(project, "triplet-explanations-take-in"))
    names = ("image-triplets", "image-triplet-queue", "triplet-explanations")
    before = []
    for name in names:
        with django_assert_max_num_queries(40) as found:
            console.get(url(project, name))
        before.append(len(found))
    more = stored.store_triplets(project, 3, researcher)
    stored.explain(more, researcher)
    stored.judge(project, {row.public_id: ("wrong", "wrong", "right") for row in more}, researcher, work=work)
    console.post(url(project, "triplet-explanations-take-in"))
    for name, most in zip(names, before, strict=True):
        with django_assert_max_num_queries(most):
            console.get(url(project, name))


# Explanations


def test_explanations_show_their_source_and_votes(
    console: Client, disputed: list[ImageTriplet], researcher: User
) -> None:
    project = disputed[0].project
    here = url(project, "triplet-explanations")
    assert "By who wrote them" in squeezed(console.get(here)), "the gold ones"
    taken = squeezed(console.post(url(project, "triplet-explanations-take-in"), follow=True))
    assert "4 explanations of workers are new." in taken, "those of 1 + 1 + 2 right choices"
    assert "4 explanations wait for judges." in taken
    text = squeezed(console.get(here))
    assert text.count(">Worker</span>") == 4
    assert text.count(">Gold</span>") == 3
    assert text.count("not judged") == 4
    assert re.findall(r"W-\d+", text)
    assert squeezed(console.get(here, {"source": "crowd"})).count(">Gold</span>") == 0
    assert "No explanation matches" in squeezed(console.get(here, {"votes": "valid"}))


def test_valid_share_counts_explanations_that_somebody_ticked(
    console: Client, disputed: list[ImageTriplet], monkeypatch: pytest.MonkeyPatch
) -> None:
    from curation.selectors.triplets import explanations as selectors
    from curation.selectors.triplets.answers import Votes

    project = disputed[0].project
    console.post(url(project, "triplet-explanations-take-in"))
    rows = list(TripletExplanation.objects.filter(source=ExplanationSource.CROWD).order_by("pk"))
    votes = {
        row.public_id: given
        for row, given in zip(rows, (Votes(1, 3), Votes(0, 3), Votes(3, 3)), strict=False)
    }
    monkeypatch.setattr(selectors, "explanation_votes", lambda project: votes)
    text = squeezed(console.get(url(project, "triplet-explanations")))
    cells = re.search(r'<td class="long">Worker</td>(.*?)</tr>', text)
    assert cells
    assert re.findall(r'data-label="[^"]+">([^<]+)<', cells[1]) == ["4", "3", "2", "66.7%", "44.4%"]
    assert "valid for 1 of 3 (33.3%)" in text


# Rounds of workers


TERMS = {"name": "Round", "assignments": "3", "reward": "0.40", "pool": ""}


def launched(console: Client, here: str, **data: str) -> tuple[str, Batch]:
    """Launch a round in two steps; return the text of the page of its cost, and its batch."""
    fund()
    shown = console.post(here, TERMS | data | {"step": "estimate"})
    assert shown.status_code == 200
    assert not Batch.objects.filter(name="Round").exists()
    key = re.search(r'name="idempotency_key" value="(\w+)"', shown.content.decode())
    assert key
    for _ in range(2):
        reply = console.post(here, TERMS | data | {"step": "launch", "idempotency_key": key[1]})
        assert reply.status_code == 302, squeezed(reply)
    return squeezed(shown), Batch.objects.get(name="Round")


def test_explanation_writing_is_launched(console: Client, triplet: ImageTriplet) -> None:
    here = url(triplet.project, "image-triplet-explaining")
    shown, batch = launched(console, here, assignments="1")
    assert "$0.40" in shown
    assert Unit.objects.get(batch=batch).key == triplet.public_id
    assert "No draft to explain" in squeezed(console.get(here))
    assert "Rounds of workers" in squeezed(console.get(url(triplet.project, "image-triplets")))


@pytest.mark.parametrize(
    ("shape", "reward", "units"),
    [("triplet", "0.38", 2), ("pair", "0.13", 4), ("hypotheses_only", "0.13", 2), ("texts", "0.38", 2)],
)
def test_each_shape_is_launched_with_its_pay(
    console: Client, project: Project, researcher: User, shape: str, reward: str, units: int
) -> None:
    found = stored.store_triplets(project, 2, researcher)
    stored.explain(found, researcher)
    here = f"{url(project, 'image-triplet-judging')}?shape={shape}"
    offered = squeezed(console.get(here))
    field = re.search(r'name="reward" value="([\d.]+)"', offered)
    assert field
    assert float(field[1]) >= float(reward)
    assert (float(field[1]) == float(reward)) or shape in ("triplet", "texts")
    assert ("attention" in offered.lower()) == (shape == "triplet")
    more = {"cannot_tell": "on"} if shape != "pair" else {}
    _, batch = launched(console, here, **more)
    payloads = list(Unit.objects.filter(batch=batch).values_list("payload", flat=True))
    assert len(payloads) == units
    assert {row["show"] for row in payloads} == {shape}
    assert {row["cannot_tell"] for row in payloads} == {shape != "pair"}
    assert "No triplet to judge" in squeezed(console.get(here))


def test_attention_checks_are_priced_and_gold_needs_gold_items(
    console: Client, project: Project, researcher: User
) -> None:
    found = stored.store_triplets(project, 4, researcher)
    stored.explain(found, researcher)
    here = url(project, "image-triplet-judging")
    refused = console.post(here, TERMS | {"gold": "10", "step": "estimate"})
    assert refused.status_code == 400
    assert "No gold item is in use." in squeezed(refused)
    shown, batch = launched(console, here, attention="50")
    assert "Rewards, 6 × 3 workers" in shown
    assert Unit.objects.filter(batch=batch).count() == 6


def test_selection_of_explanations_is_launched(console: Client, disputed: list[ImageTriplet]) -> None:
    project = disputed[0].project
    here = url(project, "triplet-explanation-launch")
    shown, batch = launched(console, here, decoys="on")
    assert "Rewards, 3 × 3 workers" in shown
    units = list(Unit.objects.filter(batch=batch).values_list("payload", flat=True))
    assert sorted(len(row["explanations"]) for row in units) == [2, 2, 3]
    assert all(len(row["decoys"]) == 1 for row in units)
    assert "No explanation to judge" in squeezed(console.get(here))
