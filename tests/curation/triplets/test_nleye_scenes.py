"""Scenes from writing to a decision: who decides, what is kept for ever, and what authors hear."""

import re
from collections import Counter
from datetime import timedelta
from typing import Any

import pytest
import time_machine
from django.contrib.auth.models import User
from django.db import DatabaseError, connection, transaction
from django.utils import timezone

from curation.models import ImagePick, PickOrigin, Scene, SceneDecision, SceneReason, SceneVerdict
from curation.selectors.triplets.scenes import (
    SceneState,
    find_scene,
    kept_scenes,
    scene_outcome,
    scene_tallies,
    scenes,
)
from curation.services.triplets.images import pick_image
from curation.services.triplets.round_launch import RoundLaunch
from curation.services.triplets.scene_rounds import launch_scene_review, launch_scenes, reviewable_scenes
from curation.services.triplets.scenes import (
    ReaderDecision,
    SceneTexts,
    decide_scene,
    draw_hypotheses,
    revise_scene,
    take_in_scenes,
    undo_decision,
)
from curation.services.triplets.settings import SettingsChange, change_settings
from curation.services.triplets.tending import tend_project
from hits.domain.states import Role
from hits.models import Batch, Hit, OutgoingCall, Project, Unit
from hits.services import projects
from hits.services.collecting import submit
from hits.services.collecting.page_keys import PageKey
from hits.services.errors import Conflict, Refused
from hits.services.images.take_down import take_down_image
from hits.services.launching.terms import LaunchTerms
from tests.support.judging.work import Work
from tests.support.nleye_stored import nleye_project, store_image, store_scenes, store_triplets

pytestmark = pytest.mark.django_db
KEEP = ReaderDecision(SceneVerdict.KEEP)
DROP = ReaderDecision(SceneVerdict.DROP, [SceneReason.UNIQUENESS, SceneReason.UNCLEAR], note="Told before.")
TEXTS = SceneTexts("A bell lies on the ground.", "A rope hangs torn.", "A rope hangs knotted.")


def written(number: int) -> dict[str, Any]:
    return {
        "premise": f"A dog with {number} muddy paws sits on a doormat.",
        "plausible": f"The dog digs {number} holes in a flower bed.",
        "implausible": f"The dog digs {number} holes in a snowdrift.",
        "category": "physical",
        "direction": "backward",
        "duration": "short",
        "domain": "other",
        "culture": "",
        "why": "Snow leaves no mud.",
    }


@pytest.fixture
def project(project: Project) -> Project:
    return nleye_project(project)


@pytest.fixture
def by(researcher: User) -> User:
    return researcher


@pytest.fixture
def second(project: Project, make_user: Any) -> User:
    user: User = make_user("sven")
    projects.set_role(project=project, user=user, role=Role.RESEARCHER, by=None)
    return user


def launch(project: Project, count: int, **quotas: int) -> Batch:
    options = RoundLaunch(terms=LaunchTerms())
    batch, _ = launch_scenes(project=project, count=count, quotas=quotas, launch=options)  # type: ignore[arg-type]
    return batch


def write(work: Work, *writers: str) -> list[Scene]:
    """Let each writer write a scene, and take them in."""
    batch = launch(work.project, len(writers))
    work.publish(batch)
    hits = Hit.objects.filter(unit__batch=batch).order_by("pk")
    for number, (hit, writer) in enumerate(zip(hits, writers, strict=True), start=work.count):
        work.answered(hit, writer, written(number))
    before = set(Scene.objects.values_list("pk", flat=True))
    assert take_in_scenes(work.project) == len(writers)
    return list(Scene.objects.exclude(pk__in=before).order_by("pk"))


def state(scene: Scene) -> SceneState:
    return scene_outcome(scene, 1).state


def test_approved_answers_become_scenes_once_and_a_is_drawn(project: Project, work: Work) -> None:
    plausible = Counter(draw_hypotheses(TEXTS)["plausible"] for _ in range(1000))
    assert 400 < plausible["a"] < 600  # of fair draws, but once in 10⁹ runs
    found = write(work, "W1", "W2", "W3")
    assert take_in_scenes(project) == 0
    for scene in found:
        assert scene.author is not None
        assert "flower bed" in scene.plausible_text
        assert "snowdrift" in scene.implausible_text
        assert scene.text(scene.plausible) == scene.plausible_text
        assert (scene.category, scene.direction, scene.duration, scene.domain) == (
            "physical",
            "backward",
            "short",
            "other",
        )


def test_one_reader_decides_undoes_and_a_stale_page_is_refused(
    project: Project, by: User, second: User
) -> None:
    (scene,) = store_scenes(project, 1)
    outcome = decide_scene(scene=scene, decision=KEEP, by=by)
    assert (outcome.state, outcome.verdict_of(by.pk).verdict) == (SceneState.KEPT, "keep")  # type: ignore[union-attr]
    stale = ReaderDecision(SceneVerdict.DROP, [SceneReason.UNCLEAR], seen=0)
    with pytest.raises(Conflict, match="somebody decided about it after you opened the page; reload"):
        decide_scene(scene=scene, decision=stale, by=second)
    with pytest.raises(Conflict, match="you have no verdict on it to take back"):
        undo_decision(scene=scene, by=second)
    with pytest.raises(Conflict, match="reload the page"):
        undo_decision(scene=scene, by=by, seen=0)
    assert undo_decision(scene=scene, by=by, seen=outcome.newest).state is SceneState.OPEN
    dropped = decide_scene(scene=scene, decision=DROP, by=by)
    assert (dropped.state, dropped.reasons) == (SceneState.DROPPED, ("uniqueness", "unclear"))
    assert list(SceneDecision.objects.values_list("verdict", flat=True)) == ["keep", "undone", "drop"]


def test_two_readers_must_agree_and_a_third_breaks_a_tie(
    project: Project, by: User, second: User, admin: User
) -> None:
    change_settings(project=project, change=SettingsChange(readers=2), by=by)
    agreed, disputed = store_scenes(project, 2)
    for scene in (agreed, disputed):
        assert decide_scene(scene=scene, decision=KEEP, by=by).state is SceneState.OPEN
    blind = ReaderDecision(
        SceneVerdict.KEEP, seen=0
    )  # the second reader's page shows nothing of the first one
    assert decide_scene(scene=agreed, decision=blind, by=second).state is SceneState.KEPT
    assert decide_scene(scene=disputed, decision=DROP, by=second).state is SceneState.DISAGREED
    assert kept_scenes(project) == [agreed]
    assert decide_scene(scene=disputed, decision=DROP, by=admin).state is SceneState.DROPPED
    with pytest.raises(Refused, match="readers: 3; use 1 or 2"):
        change_settings(project=project, change=SettingsChange(readers=3), by=by)


def test_wrong_decisions_name_what_is_wrong(project: Project, by: User, outsider: User) -> None:
    scene, other = store_scenes(project, 2)
    other_project = nleye_project(projects.create_project(name="Elsewhere", by=outsider))
    (foreign,) = store_scenes(other_project, 1)
    assert find_scene(project, foreign.public_id) is None
    cases: list[tuple[ReaderDecision, str]] = [
        (ReaderDecision(SceneVerdict.DROP), "reasons: choose at least one for the verdict drop"),
        (ReaderDecision(SceneVerdict.REVISE), "reasons: choose at least one for the verdict revise"),
        (ReaderDecision(SceneVerdict.KEEP, twin=scene), "twin: choose another scene of this project"),
        (ReaderDecision(SceneVerdict.KEEP, twin=foreign), "twin: choose another scene of this project"),
        (ReaderDecision(SceneVerdict.KEEP, note="x" * 401), "note: has 401 characters: use 400 or fewer"),
        (ReaderDecision(SceneVerdict.KEEP, note="a\0"), "note: contains the control character U+0000"),
    ]
    for decision, message in cases:
        with pytest.raises(Refused, match=f"^{re.escape(message)}"):
            decide_scene(scene=scene, decision=decision, by=by)
    assert not SceneDecision.objects.exists()
    twin = ReaderDecision(SceneVerdict.DROP, [SceneReason.UNIQUENESS], twin=other)
    decide_scene(scene=scene, decision=twin, by=by)
    assert SceneDecision.objects.get().twin == other


def test_revision_takes_the_place_and_somebody_else_decides_about_it(
    project: Project, work: Work, by: User, second: User
) -> None:
    (scene,) = write(work, "W1")
    decide_scene(scene=scene, decision=ReaderDecision(SceneVerdict.REVISE, [SceneReason.UNCLEAR]), by=by)
    revision = revise_scene(scene=scene, texts=TEXTS, by=by, facets={"category": "functional"})
    assert (revision.replaces, revision.author, revision.record) == (scene, scene.author, None)
    assert (revision.category, revision.direction, revision.why) == ("functional", "backward", scene.why)
    scene.refresh_from_db()
    assert scene.premise.startswith("A dog")
    assert (state(scene), state(revision)) == (SceneState.REPLACED, SceneState.OPEN)
    assert list(scenes(project)) == [revision]
    with pytest.raises(Conflict, match="a revision replaced it; decide about the revision"):
        decide_scene(scene=scene, decision=KEEP, by=second)
    with pytest.raises(Conflict, match="it has a revision already; revise that one"):
        revise_scene(scene=scene, texts=TEXTS, by=by)
    with pytest.raises(Refused, match="you wrote it, so somebody else decides about it"):
        decide_scene(scene=revision, decision=KEEP, by=by)
    assert decide_scene(scene=revision, decision=KEEP, by=second).state is SceneState.KEPT


def test_revision_with_a_wrong_text_or_facet_is_refused(project: Project, by: User) -> None:
    (scene,) = store_scenes(project, 1)
    cases: list[tuple[SceneTexts, dict[str, str], str]] = [
        (SceneTexts("", "a", "b"), {}, "premise: is empty"),
        (SceneTexts("A bell.", "x" * 401, "b"), {}, "plausible: has 401 characters"),
        (SceneTexts("A bell.", "It rings!", "it RINGS"), {}, "implausible: has the same words"),
        (TEXTS, {"category": "moral"}, "category: 'moral' is not known; use physical"),
        (TEXTS, {"direction": "up"}, "direction: 'up' is not known; use forward"),
        (TEXTS, {"direction": "forward"}, "duration: use short or long"),
        (TEXTS, {"duration": "short"}, "duration: leave it out"),
        (TEXTS, {"domain": " "}, "domain: is empty; choose one"),
        (TEXTS, {"domain": "d" * 61}, "domain: has 61 characters"),
        (TEXTS, {"culture": "c" * 81}, "culture: has 81 characters"),
    ]
    for texts, facets, message in cases:
        with pytest.raises(Refused, match=f"^{message}"):
            revise_scene(scene=scene, texts=texts, by=by, facets=facets)
    assert Scene.objects.count() == 1


KEPT_TABLES = ("scene", "scenedecision", "generatedimage", "imagepick", "imagetriplet")


def test_scenes_decisions_images_and_triplets_never_change(project: Project, by: User) -> None:
    (triplet,) = store_triplets(project, 1, by)
    decision = SceneDecision.objects.get(scene=triplet.scene)
    for row in (triplet.scene, decision, triplet.premise, triplet, ImagePick.objects.first()):
        assert row is not None
        for change in (row.save, row.delete):
            with pytest.raises(TypeError, match="rows are never"):
                change()
    for table in KEPT_TABLES:
        for statement in (f"UPDATE curation_{table} SET id = id", f"DELETE FROM curation_{table}"):
            with pytest.raises(DatabaseError, match="append-only"), transaction.atomic():
                connection.cursor().execute(statement)
    assert SceneDecision.objects.get() == decision


def test_author_is_never_asked_to_review_an_own_scene_or_its_revision(
    project: Project, work: Work, by: User
) -> None:
    first, second_scene = write(work, "W1", "W2")
    revision = revise_scene(scene=second_scene, texts=TEXTS, by=by)
    work.publish(launch_review(project))
    for scene, author, other in ((first, "W1", "W2"), (revision, "W2", "W1")):
        hit = Hit.objects.get(unit__key=scene.public_id)
        assert [row.worker_id for row in hit.unit.excluded_workers.all()] == [author]
        key = PageKey(str(hit.unit.public_id), str(hit.hit_id), f"TRY{scene.pk}", author)
        with pytest.raises(submit.NotEligible):
            submit.open_attempt(key)
        answer = {
            "plausible": scene.plausible if other == "W2" else "cannot_tell",
            "needs_premise": "yes",
            "drawable": "no",
            "seen": "no",
            "like": "",
        }
        work.answered(hit, other, answer)
    tallies = scene_tallies(project)
    assert (tallies[first.public_id].reviews, tallies[first.public_id].agree) == (1, 1)
    assert (tallies[revision.public_id].agree, tallies[revision.public_id].cannot_tell) == (0, 1)
    assert tallies[first.public_id].drawable == 0
    assert reviewable_scenes(project) == []
    with pytest.raises(Refused, match="scenes: no open scene is left that nobody was asked to review"):
        launch_review(project)


def launch_review(project: Project, **more: Any) -> Batch:
    batch, _ = launch_scene_review(project=project, launch=RoundLaunch(terms=LaunchTerms(), **more))
    return batch


def test_review_pages_have_neither_the_label_nor_the_author(project: Project, work: Work) -> None:
    scenes_written = write(work, "W1", "W2", "W3")
    batch = launch_review(project)
    for scene in scenes_written:
        payload = Unit.objects.get(batch=batch, key=scene.public_id).payload
        assert payload["premise"] == scene.premise
        assert (payload["a"], payload["b"]) == (scene.hypothesis_a, scene.hypothesis_b)
        assert set(payload) <= {"item", "premise", "a", "b", "scene"}


def messages(project: Project) -> list[str]:
    rows = OutgoingCall.objects.filter(operation=OutgoingCall.Operation.NOTIFY, batch__project=project)
    return [row.args["text"] for row in rows.order_by("pk")]


def later(**delta: int) -> Any:
    return time_machine.travel(timezone.now() + timedelta(**delta), tick=False)


def test_author_hears_once_what_became_of_a_scene(
    project: Project, work: Work, by: User, second: User
) -> None:
    change_settings(project=project, change=SettingsChange(readers=2), by=by)
    kept, dropped, open_scene, imported = *write(work, "W1", "W2", "W3"), *store_scenes(project, 1)
    for scene in (kept, imported):
        decide_scene(scene=scene, decision=KEEP, by=by)
        decide_scene(scene=scene, decision=KEEP, by=second)
    for person in (by, second):
        decide_scene(scene=dropped, decision=DROP, by=person)
    decide_scene(scene=open_scene, decision=KEEP, by=by)
    tend_project(project)
    assert messages(project) == []  # a reader may still take a verdict back
    with later(minutes=11):
        tend_project(project)
        tend_project(project)
    first, other = messages(project)
    assert kept.premise in first
    assert "The scene is used." in first
    assert dropped.premise in other
    assert (
        "The scene is not used. The reason: it is too similar to another scene; it is not clear enough."
        in " ".join(other.split())
    )
    assert "Told before" not in other  # a reader's note is not the author's
    with later(minutes=12):
        decide_scene(scene=kept, decision=KEEP, by=second)  # once more, to the same outcome
    with later(minutes=30):
        tend_project(project)
    assert len(messages(project)) == 2


def test_author_of_a_scene_that_was_revised_at_once_hears_of_it(
    project: Project, work: Work, by: User
) -> None:
    marked, plain = write(work, "W1", "W2")
    decide_scene(scene=marked, decision=ReaderDecision(SceneVerdict.REVISE, [SceneReason.UNCLEAR]), by=by)
    for scene in (marked, plain):
        revise_scene(scene=scene, texts=TEXTS, by=by)
    tend_project(project)
    assert messages(project) == []
    with later(minutes=11):
        tend_project(project)
    found = [" ".join(text.split()) for text in messages(project)]
    assert len(found) == 2
    assert all("The scene is changed before it is used." in text for text in found)
    assert sum("The reason: it is not clear enough." in text for text in found) == 1
    with later(days=1):
        tend_project(project)
    assert len(messages(project)) == 2


def test_launch_asks_for_the_quotas_and_a_repeated_launch_asks_nothing(project: Project) -> None:
    options = RoundLaunch(terms=LaunchTerms(), idempotency_key="once")
    quotas: Any = {"emotional": 4, "social": 2}
    batch, _ = launch_scenes(project=project, count=10, quotas=quotas, launch=options)
    asked = [unit.payload["category"] for unit in Unit.objects.filter(batch=batch).order_by("pk")]
    assert Counter(asked) == {"emotional": 4, "social": 2, "": 4}
    again, _ = launch_scenes(project=project, count=10, quotas=quotas, launch=options)
    assert again == batch
    assert (Batch.objects.count(), Unit.objects.count()) == (1, 10)
    other = launch(project, 3)
    numbers = [unit.payload["number"] for unit in Unit.objects.order_by("pk")]
    assert numbers == list(range(1, 14))  # numbers go on over launches
    assert [unit.payload["category"] for unit in Unit.objects.filter(batch=other)] == ["", "", ""]
    for count, given, message in (
        (0, {}, "count: use 1 to 10,000 scenes"),
        (10_001, {}, "count: use 1 to 10,000 scenes"),
        (2, {"social": 3}, "quotas: they ask for 3 scenes and the launch has 2"),
    ):
        with pytest.raises(Refused, match=message):
            launch_scenes(project=project, count=count, quotas=given, launch=RoundLaunch(terms=LaunchTerms()))  # type: ignore[arg-type]
    assert Unit.objects.count() == 13


def test_image_that_was_taken_down_is_neither_shown_nor_picked(project: Project, by: User) -> None:
    (scene,) = store_scenes(project, 1)
    decide_scene(scene=scene, decision=KEEP, by=by)
    gone, good = store_image(scene, "premise"), store_image(scene, "premise", seed=1)
    take_down_image(image=gone.image, reason="withdrawn", by=by)
    with pytest.raises(Refused, match="image: is no candidate for this role, was taken down, or is hidden"):
        pick_image(scene=scene, role="premise", image=gone, by=by, origin=PickOrigin.QUEUE)
    assert pick_image(scene=scene, role="premise", image=good, by=by).picks["premise"] == good
    (foreign,) = store_scenes(project, 1)
    with pytest.raises(Refused, match="image: is no candidate for this role"):
        pick_image(scene=foreign, role="premise", image=good, by=by)
    with pytest.raises(Refused, match="role: 'h1' is not known; use premise, a, b"):
        pick_image(scene=scene, role="h1", image=good, by=by)
