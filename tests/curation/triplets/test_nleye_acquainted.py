"""Who met a scene in any task, or works on the project, judges none of its triplets."""

from collections.abc import Callable

import pytest
from django.contrib.auth.models import User

from curation.models import ImageTriplet, Scene, SceneVerdict
from curation.selectors.triplets.scene_queue import SceneQueue
from curation.services.triplets.explanation_rounds import launch_explanations
from curation.services.triplets.images import pick_image
from curation.services.triplets.pick_rounds import launch_image_picks
from curation.services.triplets.round_launch import RoundLaunch
from curation.services.triplets.scene_rounds import launch_scene_review
from curation.services.triplets.scenes import ReaderDecision, SceneTexts, decide_scene, revise_scene
from curation.services.triplets.triplet_rounds import (
    PlausibilityOptions,
    launch_explanation_writing,
    launch_plausibility,
)
from curation.services.triplets.triplets import build_triplets
from hits.domain.states import Role
from hits.marketplace.errors import ActionRefused
from hits.marketplace.models import Clock
from hits.marketplace.services import accounts, attempts, countries
from hits.models import Batch, Hit, Membership, Project, Worker
from hits.mturk.boto import marketplace
from hits.services import projects
from hits.services.collecting import submit
from hits.services.launching.terms import LaunchTerms
from hits.services.publishing import publish
from tests.support import market
from tests.support import nleye_stored as stored
from tests.support.loop import page_key
from validation.domain.judging.triplet_shapes import Shape

pytestmark = pytest.mark.django_db(transaction=True)
KNOWN = "You know this item from another task"


@pytest.fixture(autouse=True)
def _funds() -> None:
    market.fund(10_000_000)


def launch(by: User, redundancy: int = 3) -> RoundLaunch:
    return RoundLaunch(by, "Round", LaunchTerms(redundancy=redundancy))


def published(batch: Batch) -> list[Hit]:
    publish.publish_batch(batch=batch, marketplace=marketplace())
    return list(Hit.objects.filter(unit__batch=batch).order_by("unit__key"))


def judged(project: Project, by: User, shape: Shape = Shape.TRIPLET) -> list[Hit]:
    """Publish a round of plausibility."""
    options = PlausibilityOptions(shape=shape)
    return published(launch_plausibility(project=project, options=options, launch=launch(by))[0])


def meet(hit: Hit, worker: market.Worker) -> market.Accepted:
    """Accept a task and open its page."""
    task = market.accept(hit, worker)
    key = page_key(hit, task.slot.assignment_id, worker.worker_id)
    submit.record_consent(key=key, version=1, country="US")
    submit.open_attempt(key)
    return task


def give_back(task: market.Accepted) -> None:
    attempts.return_task(worker=task.worker, assignment_id=task.slot.assignment_id, now=Clock.now())


def revised(scene: Scene) -> Scene:
    texts = SceneTexts(f"{scene.premise} Now.", scene.plausible_text, scene.implausible_text)
    return revise_scene(scene=scene, texts=texts, by=None)


def built(project: Project, scene: Scene, by: User) -> ImageTriplet:
    """Keep a scene, pick its images, and build and explain its triplet."""
    stored.keep_scenes([scene], by)
    stored.pick_images([scene], by)
    (triplet,) = build_triplets(project=project, by=by).triplets
    stored.explain([triplet], by)
    return triplet


def rebuilt(triplet: ImageTriplet, by: User) -> ImageTriplet:
    """Pick another premise, and build and explain again."""
    scene = triplet.scene
    other = stored.store_image(scene, "premise", seed=7)
    pick_image(scene=scene, role="premise", image=other, by=by)
    (new,) = build_triplets(project=scene.project, by=by).triplets
    stored.explain([new], by)
    return new


@pytest.mark.parametrize(
    ("first", "second"), [(Shape.TEXTS, Shape.TRIPLET), (Shape.TRIPLET, Shape.HYPOTHESES_ONLY)]
)
def test_a_returned_shape_closes_the_others_and_itself(
    project: Project, researcher: User, first: Shape, second: Shape
) -> None:
    stored.explain(stored.store_triplets(project, 1, researcher), researcher)
    (seen,), (other,) = judged(project, researcher, first), judged(project, researcher, second)
    worker = market.market_worker()
    task = meet(seen, worker)
    key = page_key(seen, task.slot.assignment_id, worker.worker_id)
    assert submit.open_attempt(key).hit_id == seen.pk, "the page in hand loads again"
    give_back(task)
    with pytest.raises(ActionRefused, match=KNOWN):
        market.accept(other, worker)
    with pytest.raises(ActionRefused, match="You have seen this item before"):
        market.accept(seen, worker)
    meet(other, market.market_worker("otto"))


def test_a_returned_pair_closes_the_other_pair_of_its_triplet(project: Project, researcher: User) -> None:
    stored.explain(stored.store_triplets(project, 1, researcher), researcher)
    first, second = judged(project, researcher, Shape.PAIR)
    worker = market.market_worker()
    give_back(meet(first, worker))
    with pytest.raises(ActionRefused, match=KNOWN):
        market.accept(second, worker)


def test_a_reviewer_does_not_judge_the_revision(project: Project, researcher: User) -> None:
    scene, other = stored.store_scenes(stored.nleye_project(project), 2)
    hits = {
        hit.unit.payload["item"]: hit
        for hit in published(launch_scene_review(project=project, launch=launch(researcher))[0])
    }
    worker = market.market_worker()
    meet(hits[scene.public_id], worker)
    built(project, revised(revised(scene)), researcher)
    (hit,) = judged(project, researcher)
    assert hit.unit.payload["scene"] == scene.public_id, "the first of the chain"
    with pytest.raises(ActionRefused, match=KNOWN):
        market.accept(hit, worker)
    built(project, other, researcher)
    meet(judged(project, researcher)[0], worker)


def test_who_picked_images_of_the_older_texts_does_not_judge(project: Project, researcher: User) -> None:
    (scene,) = stored.store_scenes(stored.nleye_project(project), 1)
    stored.keep_scenes([scene], researcher)
    for seed in range(2):
        stored.store_image(scene, "premise", seed=seed)
    (pick,) = published(launch_image_picks(project=project, launch=launch(researcher, 2))[0])
    worker = market.market_worker()
    meet(pick, worker)
    built(project, revised(scene), researcher)
    with pytest.raises(ActionRefused, match=KNOWN):
        market.accept(judged(project, researcher)[0], worker)


@pytest.mark.parametrize("is_explainer", [True, False])
def test_who_explained_or_judged_the_older_triplet_does_not_judge_the_new_one(
    project: Project, researcher: User, is_explainer: bool
) -> None:
    (old,) = stored.store_triplets(project, 1, researcher)
    if is_explainer:
        hits = published(launch_explanation_writing(project=project, launch=launch(researcher, 1))[0])
    else:
        stored.explain([old], researcher)
        hits = judged(project, researcher)
    worker = market.market_worker()
    meet(hits[0], worker)
    new = rebuilt(old, researcher)
    (hit,) = judged(project, researcher)
    assert hit.unit.payload["triplet"] == new.public_id
    with pytest.raises(ActionRefused, match=KNOWN):
        market.accept(hit, worker)


def test_who_saw_an_explanation_of_another_triplet_as_a_decoy_does_not_judge_that_one(
    project: Project, researcher: User
) -> None:
    (judged_one,) = stored.store_triplets(project, 1, researcher)
    stored.explain([judged_one], researcher)
    stored.judge(project, {judged_one.public_id: ("right",) * 3}, researcher)
    (other,) = stored.store_triplets(project, 1, researcher)
    stored.explain([other], researcher)
    round_, _ = launch_explanations(project=project, launch=launch(researcher), decoys=True)
    (page,) = published(round_)
    assert len(page.unit.payload["decoys"]) == 1
    worker = market.market_worker()
    meet(page, worker)
    (hit,) = judged(project, researcher)
    assert hit.unit.payload["triplet"] == other.public_id
    with pytest.raises(ActionRefused, match=KNOWN):
        market.accept(hit, worker)
    new = rebuilt(other, researcher)
    (again,) = judged(project, researcher)
    assert again.unit.payload["triplet"] == new.public_id
    with pytest.raises(ActionRefused, match=KNOWN):
        market.accept(again, worker)


def account(user: User) -> market.Worker:
    """Return a user's own account as a worker."""
    worker = accounts.ensure_worker(user=user)
    countries.declare_country(worker=worker, country="US", now=Clock.now())
    return worker


@pytest.mark.parametrize("has_left", [False, True])
def test_who_works_on_the_project_judges_nothing_also_after_leaving(
    project: Project, researcher: User, has_left: bool
) -> None:
    stored.explain(stored.store_triplets(project, 1, researcher), researcher)
    (hit,) = judged(project, researcher)
    if has_left:
        Membership.objects.filter(user=researcher).delete()
    with pytest.raises(ActionRefused, match="You work on this project"):
        market.accept(hit, account(researcher))
    meet(hit, market.market_worker())


def test_an_author_does_not_decide_about_their_own_scene(
    project: Project, researcher: User, make_user: Callable[..., User]
) -> None:
    worker, _ = Worker.objects.get_or_create(worker_id=account(researcher).worker_id, environment="local")
    own, other = (
        *stored.store_scenes(stored.nleye_project(project), 1, author=worker),
        *stored.store_scenes(project, 1),
    )
    keep = ReaderDecision(SceneVerdict.KEEP)
    with pytest.raises(Exception, match="scene: you wrote it, so somebody else decides"):
        decide_scene(scene=own, decision=keep, by=researcher)
    queue = SceneQueue(project, researcher.pk)
    assert [row.may_decide for row in queue.show([own, other])] == [False, True]
    reader = make_user("rolf")
    projects.set_role(project=project, user=reader, role=Role.RESEARCHER, by=None)
    decide_scene(scene=own, decision=keep, by=reader)
