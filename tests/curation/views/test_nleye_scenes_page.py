"""The filter queue of scenes: who may open it, what a blind reader sees, verdicts, stale pages, and many scenes."""

import re
from collections.abc import Callable
from typing import Any

import pytest
from django.contrib.auth.models import User
from django.db import connection
from django.test import Client
from django.test.utils import CaptureQueriesContext
from django.urls import reverse

from curation.models import Scene, SceneDecision, SceneReason, SceneTwins, SceneVerdict
from curation.selectors.triplets.scenes import review_spec
from curation.services.triplets.round_launch import RoundLaunch
from curation.services.triplets.scene_rounds import launch_scenes
from curation.services.triplets.scenes import ReaderDecision, SceneTexts, decide_scene, revise_scene
from curation.services.triplets.settings import SettingsChange, change_settings
from hits.domain.states import Role
from hits.models import Hit, Job, Project
from hits.services.launching.terms import LaunchTerms
from tests.support.judging.work import Work
from tests.support.nleye_stored import nleye_project, store_scenes
from validation.models import ImportedJudgment, JudgmentImport

pytestmark = pytest.mark.django_db
NOTE = "sentinel-note-of-the-first-reader"


@pytest.fixture
def triplets(project: Project) -> Project:
    """Return a project with image triplets."""
    return nleye_project(project)


@pytest.fixture
def second(make_user: Callable[..., User], triplets: Project) -> User:
    """Return another researcher of the project."""
    user = make_user("rudi")
    triplets.memberships.create(user=user, role=Role.RESEARCHER)
    return user


def review(scenes: list[Scene], answers: list[dict[str, str]]) -> None:
    """Store the same reviews of each scene, as if they had been imported."""
    source = JudgmentImport.objects.create(
        project=scenes[0].project, kind=review_spec().name, name="r.jsonl", sha256="0" * 64, judgments=1
    )
    ImportedJudgment.objects.bulk_create(
        ImportedJudgment(source=source, item=scene.public_id, rater=f"r{number}", answer=answer)
        for scene in scenes
        for number, answer in enumerate(answers)
    )


def answer_of(plausible: str, **more: str) -> dict[str, str]:
    return {
        "plausible": plausible,
        "needs_premise": "yes",
        "drawable": "yes",
        "seen": "no",
        "like": "",
    } | more


def twin_all(scenes: list[Scene], cosine: float = 0.93) -> None:
    """Make each scene the twin of the next one."""
    ids = [scene.public_id for scene in scenes]
    twins = {key: [other, cosine] for key, other in zip(ids, [*ids[1:], ids[0]], strict=True)}
    SceneTwins.objects.create(project=scenes[0].project, encoder="made up", twins=twins)


def page_of(client: Client, project: Project, user: User, **query: Any) -> str:
    client.force_login(user)
    reply = client.get(reverse("scenes", args=[project.slug]), query)
    assert reply.status_code == 200
    return str(reply.content.decode())


def decide(client: Client, user: User, scene: Scene, verdict: str, *, json: bool = False, **more: Any) -> Any:
    client.force_login(user)
    headers = {"Accept": "application/json"} if json else {}
    address = reverse("scene-decide", args=[scene.project.slug, scene.pk])
    return client.post(address, {"verdict": verdict, "seen": 0, **more}, headers=headers)


def squeezed(page: str) -> str:
    """Return a page with single spaces."""
    return " ".join(page.split())


# Who may open them


def addresses(project: Project, scene: Scene) -> list[tuple[str, str]]:
    """Return the method and the address of every page about scenes, prompts and settings."""
    of_scene = ("scene", "scene-revise", "scene-prompts-write")
    verdicts = ("scene-decide", "scene-prompts-decide")
    pages = (
        "scenes",
        "scene-import",
        "scene-launch",
        "scene-review-launch",
        "scene-prompts",
        "scene-prompts-augment",
        "scene-prompts-csv",
        "triplet-settings",
    )
    acts = ("scenes-take-in", "scene-twins", "scene-prompts-plain", "scene-prompts-approve")
    return [
        *(("get", reverse(name, args=[project.slug])) for name in pages),
        *(("get", reverse(name, args=[project.slug, scene.pk])) for name in of_scene),
        *(("post", reverse(name, args=[project.slug])) for name in acts),
        *(("post", reverse(name, args=[project.slug, scene.pk])) for name in verdicts),
    ]


def test_every_address_of_these_pages_is_in_the_table(triplets: Project) -> None:
    from curation.urls_triplets import _SCENE_PAGES

    scene = store_scenes(triplets, 1)[0]
    assert len(addresses(triplets, scene)) == len(_SCENE_PAGES)


@pytest.mark.parametrize("who", ["outsider", "annotator"])
def test_strangers_find_no_page_and_store_nothing(
    client: Client, triplets: Project, who: str, request: pytest.FixtureRequest
) -> None:
    scene = store_scenes(triplets, 2)[0]
    client.force_login(request.getfixturevalue(who))
    for method, address in addresses(triplets, scene):
        assert getattr(client, method)(address, {"verdict": "keep", "seen": 0}).status_code == 404, address
    assert not SceneDecision.objects.exists()
    assert not Job.objects.exists()


def test_projects_of_other_families_have_no_such_pages(
    client: Client, project: Project, researcher: User
) -> None:
    scene = store_scenes(project, 1)[0]
    client.force_login(researcher)
    for method, address in addresses(project, scene):
        assert getattr(client, method)(address).status_code == 404, address


def test_scene_of_another_project_is_missing(
    client: Client, triplets: Project, rehearsal: Project, researcher: User
) -> None:
    foreign = store_scenes(nleye_project(rehearsal), 1)[0]
    client.force_login(researcher)
    for name in ("scene", "scene-revise", "scene-prompts-write"):
        assert client.get(reverse(name, args=[triplets.slug, foreign.pk])).status_code == 404
    address = reverse("scene-decide", args=[triplets.slug, foreign.pk])
    assert client.post(address, {"verdict": "keep", "seen": 0}).status_code == 404
    assert not SceneDecision.objects.exists()


def test_reading_pages_writes_nothing(client: Client, triplets: Project, researcher: User) -> None:
    scene = store_scenes(triplets, 2)[0]
    client.force_login(researcher)
    client.get(reverse("scenes", args=[triplets.slug]))  # the first page of a session may store it
    with CaptureQueriesContext(
        connection,
    ) as queries:
        for method, address in addresses(triplets, scene):
            if method == "get":
                assert client.get(address).status_code == 200, address
    writes = [q["sql"] for q in queries if re.match(r"\s*(INSERT|UPDATE|DELETE)", q["sql"], re.IGNORECASE)]
    assert writes == []


# What a page shows


def test_card_shows_marks_reviews_and_the_twin(client: Client, triplets: Project, researcher: User) -> None:
    scenes = store_scenes(triplets, 2)
    scene = scenes[0]
    other = "b" if scene.plausible == "a" else "a"
    answers = [
        answer_of(scene.plausible),
        answer_of(other, needs_premise="no"),
        answer_of("cannot_tell", drawable="no", seen="yes", like="the fable of the lamp"),
    ]
    review(scenes, answers)
    twin_all(scenes)
    page = squeezed(page_of(client, triplets, researcher))
    card = page[page.index(f'id="scene-{scene.pk}"') : page.index(f'id="scene-{scenes[1].pk}"')]
    # The hypotheses are "A child with ball 0 looks at the floor." and "A child reads book 0 in an armchair."
    assert re.findall(r"<mark>(.*?)</mark>", card) == [
        "with ball", "looks at the floor.", "reads book", "in an armchair."
    ]  # fmt: skip
    figures = re.findall(r"<dt>(.*?)</dt> ?<dd>(.*?)</dd>", card)
    assert figures == [
        ("Agree with the author", "1 of 3, 1 cannot tell"),
        ("Premise needed", "2 of 3"),
        ("Can be drawn", "2 of 3"),
        ("Seen before", "1 of 3"),
    ]
    assert "the fable of the lamp" in card
    assert "cosine 0.93" in card
    assert scenes[1].premise in card  # both texts, to compare them


def test_quotas_count_kept_scenes_against_targets(
    client: Client, triplets: Project, researcher: User
) -> None:
    scenes = store_scenes(triplets, 6)  # one of each category: parallel, forward-short, forward-long, …
    targets = {"physical": {"parallel": 3}, "emotional": {"": 2}}
    change_settings(project=triplets, change=SettingsChange(targets=targets), by=researcher)
    decide_scene(scene=scenes[0], decision=ReaderDecision(SceneVerdict.KEEP), by=researcher)
    page = squeezed(page_of(client, triplets, researcher))
    assert "1 of 5 kept" in page
    assert "missing: 2 physical, 2 emotional" in page
    row = page[page.index("Physical</th>") : page.index("Functional</th>")]
    cells = re.findall(r'data-label="(.*?)">(.*?)</td>', row)
    assert [(label, re.sub("<.*?>", "", text).strip()) for label, text in cells] == [
        ("Forward, short", "0"),
        ("Forward, long", "0"),
        ("Backward, short", "0"),
        ("Backward, long", "0"),
        ("Parallel", "1/3, 2 missing"),
        ("All", "1/3, 2 missing"),
    ]


def test_filters_narrow_the_list(client: Client, triplets: Project, researcher: User) -> None:
    scenes = store_scenes(triplets, 12)
    twin_all(scenes[:2])
    decide_scene(scene=scenes[3], decision=ReaderDecision(SceneVerdict.KEEP), by=researcher)

    def listed(**query: Any) -> list[int]:
        return [
            int(pk)
            for pk in re.findall(r'data-scene="(\d+)"', page_of(client, triplets, researcher, **query))
        ]

    keys = [scene.pk for scene in scenes]
    assert listed() == [key for key in keys if key != keys[3]]  # those that wait for the reader
    assert listed(state="kept") == [keys[3]]
    assert listed(state="all", category="physical") == [keys[0], keys[6]]
    assert listed(state="all", cell="parallel") == [keys[0], keys[5], keys[10]]
    assert listed(state="all", twin="on") == keys[:2]
    assert listed(state="all", q="BALL 11 ") == [keys[11]]
    assert listed(state="all", q=f"#{keys[4]}") == [keys[4]]
    assert listed(state="nonsense", size="7") == listed()


def test_next_steps_name_what_waits(client: Client, triplets: Project, researcher: User) -> None:
    assert "No scenes yet" in page_of(client, triplets, researcher)
    scenes = store_scenes(triplets, 4)
    verdicts = (SceneVerdict.KEEP, SceneVerdict.KEEP, SceneVerdict.REVISE)
    for scene, verdict in zip(scenes, verdicts, strict=False):
        reasons = [] if verdict is SceneVerdict.KEEP else [SceneReason.UNCLEAR]
        decide_scene(scene=scene, decision=ReaderDecision(verdict, reasons), by=researcher)
    page = squeezed(page_of(client, triplets, researcher))
    for step in (
        "1 open scene was not sent to reviewers.",
        "1 scene to revise.",
        "2 kept scenes wait for prompts.",
    ):
        assert step in page


def test_approved_answers_come_in_by_a_button_and_name_their_writer(
    client: Client, triplets: Project, researcher: User
) -> None:
    work = Work(triplets)
    terms = RoundLaunch(terms=LaunchTerms())
    batch, _ = launch_scenes(project=triplets, count=1, quotas={}, launch=terms)
    work.publish(batch)
    answer = {
        "premise": "A dog with muddy paws sits on a doormat.",
        "plausible": "The dog digs in a flower bed.",
        "implausible": "The dog digs in a snowdrift.",
        "category": "physical",
        "direction": "backward",
        "duration": "short",
        "domain": "other",
        "culture": "",
        "why": "The paws are muddy.",
    }
    submission = work.answered(Hit.objects.get(unit__batch=batch), "AWRITERSENTINEL", answer)
    assert "1 approved scene will be listed in a few minutes." in squeezed(
        page_of(client, triplets, researcher)
    )
    assert not Scene.objects.exists()  # a page that is read stores nothing
    reply = client.post(reverse("scenes-take-in", args=[triplets.slug]), follow=True)
    page = squeezed(reply.content.decode())
    assert "1 scene came in." in page
    scene = Scene.objects.get()
    assert f"by W-{scene.author_id}" in page
    detail = client.get(reverse("scene", args=[triplets.slug, scene.pk])).content.decode()
    assert reverse("assignment-detail", args=[submission.assignment.pk]) in detail
    assert "AWRITERSENTINEL" not in page + detail


# Verdicts


def test_keep_by_form_goes_back_to_the_same_list(client: Client, triplets: Project, researcher: User) -> None:
    scene = store_scenes(triplets, 1)[0]
    reply = decide(client, researcher, scene, "keep", query="category=physical&page=2")
    assert reply.status_code == 302
    assert reply["Location"] == (
        f"{reverse('scenes', args=[triplets.slug])}?category=physical&page=2#scene-{scene.pk}"
    )
    row = SceneDecision.objects.get()
    assert (row.scene, row.verdict, row.by) == (scene, "keep", researcher)


def test_drop_needs_a_reason_and_keeps_the_note(client: Client, triplets: Project, researcher: User) -> None:
    scenes = store_scenes(triplets, 2)
    reply = decide(client, researcher, scenes[0], "drop", note="Too long", **{"from": "scene"})
    assert reply.status_code == 400
    page = squeezed(reply.content.decode())
    assert "Choose at least one for the verdict drop." in page
    assert "Too long</textarea>" in page
    assert not SceneDecision.objects.exists()
    reply = decide(
        client,
        researcher,
        scenes[0],
        "drop",
        reasons=["uniqueness", "unclear"],
        twin=scenes[1].pk,
        note="Too long",
    )
    assert reply.status_code == 302
    row = SceneDecision.objects.get()
    assert (row.reasons, row.twin, row.note) == (["uniqueness", "unclear"], scenes[1], "Too long")


@pytest.mark.parametrize("twin", ["self", "foreign", "999999"])
def test_twin_must_be_another_scene_of_the_project(
    client: Client, triplets: Project, rehearsal: Project, researcher: User, twin: str
) -> None:
    scene = store_scenes(triplets, 1)[0]
    foreign = store_scenes(nleye_project(rehearsal), 1)[0]
    number = {"self": scene.pk, "foreign": foreign.pk}.get(twin, twin)
    reply = decide(client, researcher, scene, "drop", json=True, reasons=["uniqueness"], twin=number)
    assert reply.status_code == 400
    assert reply.json()["message"].startswith("Not stored: twin: ")
    assert not SceneDecision.objects.exists()


def test_script_gets_the_card_and_the_summary(client: Client, triplets: Project, researcher: User) -> None:
    scene = store_scenes(triplets, 2)[0]
    reply = decide(client, researcher, scene, "keep", json=True, query="?state=all")
    answer = reply.json()
    assert reply.status_code == 200
    assert answer["message"] == f"Scene {scene.pk} is kept."
    assert f'id="scene-{scene.pk}"' in answer["card"]
    assert "Your verdict: keep" in answer["card"]
    assert f'name="seen" value="{SceneDecision.objects.get().pk}"' in answer["card"]
    assert "1 kept scene waits for prompts" in squeezed(answer["summary"])


def test_stale_page_gets_one_message_and_changes_nothing(
    client: Client, triplets: Project, researcher: User, second: User
) -> None:
    scene = store_scenes(triplets, 1)[0]
    decide_scene(scene=scene, decision=ReaderDecision(SceneVerdict.KEEP), by=second)
    reply = decide(client, researcher, scene, "drop", json=True, reasons=["unclear"])  # seen 0 is out of date
    assert reply.status_code == 409
    message = "Not stored: scene: somebody decided about it after you opened the page; reload the page."
    assert reply.json()["message"] == message
    assert "rudi: <b>keep</b>" in reply.json()["card"]
    page = client.post(
        reverse("scene-decide", args=[triplets.slug, scene.pk]), {"verdict": "keep", "seen": 0}, follow=True
    ).content.decode()
    assert squeezed(page).count(message.removesuffix(".")) == 1
    assert SceneDecision.objects.count() == 1


def test_undo_takes_the_own_verdict_back(client: Client, triplets: Project, researcher: User) -> None:
    scene = store_scenes(triplets, 1)[0]
    decide_scene(scene=scene, decision=ReaderDecision(SceneVerdict.KEEP), by=researcher)
    seen = SceneDecision.objects.get().pk
    assert decide(client, researcher, scene, "undone", json=True, seen=seen - 1).status_code == 409
    reply = decide(client, researcher, scene, "undone", json=True, seen=seen)
    assert (reply.status_code, reply.json()["waits"]) == (200, True)
    assert decide(client, researcher, scene, "undone", json=True, seen=seen + 1).status_code == 409


# A blind second reader


def blind_project(project: Project, by: User) -> list[Scene]:
    change_settings(project=project, change=SettingsChange(readers=2), by=by)
    scenes = store_scenes(project, 3)
    review(scenes, [answer_of("a", seen="yes", like="sentinel-remark-of-a-worker")])
    return scenes


def test_second_reader_sees_nothing_of_the_first_before_deciding(
    client: Client, triplets: Project, researcher: User, second: User
) -> None:
    scene = blind_project(triplets, researcher)[0]
    before = {
        name: page_of(client, triplets, second, **query)
        for name, query in {"list": {}, "all": {"state": "all"}}.items()
    }
    detail = reverse("scene", args=[triplets.slug, scene.pk])
    before["scene"] = client.get(detail).content.decode()
    dropped = ReaderDecision(SceneVerdict.DROP, [SceneReason.UNSAFE, SceneReason.OTHER], note=NOTE)
    decide_scene(scene=scene, decision=dropped, by=researcher)
    after = {
        "list": page_of(client, triplets, second),
        "all": page_of(client, triplets, second, state="all"),
        "scene": client.get(detail).content.decode(),
    }
    for name, page in after.items():
        for sentinel in (NOTE, "sentinel-remark", researcher.username, 'aria-pressed="true"'):
            assert sentinel not in page, (name, sentinel)
        # Byte for byte the page that the reader got before anybody decided, without the tokens of its forms.
        assert without_tokens(page) == without_tokens(before[name]), name


def without_tokens(page: str) -> str:
    return re.sub(r'name="csrfmiddlewaretoken" value="\w+"', "", page)


def test_both_verdicts_are_shown_afterwards_and_disagreement_is_to_settle(
    client: Client, triplets: Project, researcher: User, second: User, admin: User
) -> None:
    scene = blind_project(triplets, researcher)[0]
    dropped = ReaderDecision(SceneVerdict.DROP, [SceneReason.UNSAFE], note=NOTE)
    decide_scene(scene=scene, decision=dropped, by=researcher)
    reply = decide(
        client, second, scene, "keep", json=True
    )  # a page from before the first verdict is not stale
    assert reply.status_code == 200
    card = squeezed(reply.json()["card"])
    assert "To settle" in card
    assert f"{researcher.username}: <b>drop</b> (not suitable)" in card
    assert NOTE in card
    assert "sentinel-remark-of-a-worker" in card
    assert "1 scene to settle: the readers disagree." in squeezed(reply.json()["summary"])
    # A third reader settles it, and sees both verdicts.
    page = squeezed(page_of(client, triplets, admin, state="disagreed"))
    assert NOTE in page
    newest = max(SceneDecision.objects.values_list("pk", flat=True))
    assert decide(client, admin, scene, "keep", json=True, seen=0).status_code == 409
    assert decide(client, admin, scene, "keep", json=True, seen=newest).status_code == 200
    assert "Kept" in page_of(client, triplets, admin, state="kept")


# Revisions


def revision_of(scene: Scene, **changes: str) -> dict[str, str]:
    facets = {
        name: getattr(scene, name) for name in ("category", "direction", "duration", "domain", "culture")
    }
    texts = {
        "premise": scene.premise,
        "plausible": scene.plausible_text,
        "implausible": scene.implausible_text,
    }
    return facets | texts | changes


def test_revision_is_a_new_scene_that_names_the_old_one(
    client: Client, triplets: Project, researcher: User, second: User
) -> None:
    scene = store_scenes(triplets, 1)[0]
    client.force_login(researcher)
    address = reverse("scene-revise", args=[triplets.slug, scene.pk])
    reply = client.post(address, revision_of(scene, premise="A broken vase lies on the floor."))
    revision = Scene.objects.get(replaces=scene)
    assert reply["Location"] == reverse("scene", args=[triplets.slug, revision.pk])
    assert (revision.premise, revision.created_by) == ("A broken vase lies on the floor.", researcher)
    page = squeezed(client.get(reply["Location"]).content.decode())
    assert "You wrote this scene, so somebody else decides about it." in page
    assert "<ins>vase</ins>" in page
    assert decide(client, researcher, revision, "keep", json=True).status_code == 400
    assert decide(client, second, revision, "keep", json=True).status_code == 200
    # The old scene says so, and takes no verdict.
    old = client.get(reverse("scene", args=[triplets.slug, scene.pk])).content.decode()
    assert f"Revised as scene {revision.pk}" in old
    assert decide(client, second, scene, "keep", json=True).status_code == 409
    assert [row.pk for row in Scene.objects.filter(replaced_by=None, project=triplets)] == [revision.pk]


@pytest.mark.parametrize(
    ("changes", "field", "message"),
    [
        ({"premise": "  "}, "Premise", "This field is required."),
        (
            {"implausible": "A child with ball 0 looks at the floor!"},
            "Less plausible hypothesis",
            "Has the same words",
        ),
        ({"direction": "forward"}, "Duration", "Use short or long"),
        ({}, "", "Nothing is changed yet"),
    ],
)
def test_bad_revision_names_its_field_and_stores_nothing(
    client: Client, triplets: Project, researcher: User, changes: dict[str, str], field: str, message: str
) -> None:
    scene = store_scenes(triplets, 1)[0]  # parallel
    client.force_login(researcher)
    reply = client.post(
        reverse("scene-revise", args=[triplets.slug, scene.pk]), revision_of(scene, **changes)
    )
    assert reply.status_code == 400
    page = squeezed(reply.content.decode())
    summary = page[page.index('role="alert"') :][:600]
    assert field in summary
    assert message in summary
    assert Scene.objects.filter(project=triplets).count() == 1


def test_second_revision_of_a_scene_is_refused(client: Client, triplets: Project, researcher: User) -> None:
    scene = store_scenes(triplets, 1)[0]
    revise_scene(scene=scene, texts=SceneTexts("A vase.", "A cat runs.", "A cat sleeps."), by=None)
    client.force_login(researcher)
    address = reverse("scene-revise", args=[triplets.slug, scene.pk])
    reply = client.post(address, revision_of(scene, premise="Another vase."))
    assert reply.status_code == 400
    assert "it has a revision already" in reply.content.decode()
    assert Scene.objects.filter(project=triplets).count() == 2


# Many scenes


def count_queries(client: Client, project: Project, **query: Any) -> int:
    with CaptureQueriesContext(connection) as found:
        assert client.get(reverse("scenes", args=[project.slug]), query).status_code == 200
    return len(found)


def test_450_scenes_need_no_more_queries_than_30(client: Client, triplets: Project, researcher: User) -> None:
    scenes = store_scenes(triplets, 30)
    client.force_login(researcher)
    on_one_page = {"state": "all", "size": 500}
    count_queries(client, triplets, **on_one_page)  # the first page of a session stores it

    def fill(rows: list[Scene]) -> None:
        review_more(rows)
        for scene in rows[::3]:
            decide_scene(scene=scene, decision=ReaderDecision(SceneVerdict.KEEP), by=researcher)

    fill(scenes)
    twin_all(scenes)
    few = count_queries(client, triplets, **on_one_page)
    more = store_scenes(triplets, 420)
    fill(more)
    twin_all([*scenes, *more])
    assert count_queries(client, triplets, **on_one_page) == few
    assert count_queries(client, triplets, state="all") == few


def review_more(scenes: list[Scene]) -> None:
    source, _ = JudgmentImport.objects.get_or_create(
        project=scenes[0].project, kind=review_spec().name, name="r.jsonl", sha256="1" * 64, judgments=1
    )
    ImportedJudgment.objects.bulk_create(
        ImportedJudgment(source=source, item=scene.public_id, rater=f"r{number}", answer=answer_of("a"))
        for scene in scenes
        for number in range(3)
    )
