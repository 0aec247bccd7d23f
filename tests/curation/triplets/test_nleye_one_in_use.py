"""A scene has one triplet in use; what is decided about scenes, picks and images decides about triplets."""

from typing import Any

import pytest
from django.contrib.auth.models import User
from django.utils import timezone

from curation.models import ImagePick, ImageTriplet, Scene, SceneReason, SceneVerdict, TripletVerdict
from curation.selectors.triplets.image_queue import ImageStep, image_queue
from curation.selectors.triplets.images import scene_images
from curation.selectors.triplets.scenes import kept_scenes
from curation.selectors.triplets.triplets import TripletState, available_triplets, triplet_facts
from curation.services.triplets.images import pick_image, release_image
from curation.services.triplets.pick_rounds import apply_crowd_picks, launch_image_picks, pick_sources
from curation.services.triplets.round_launch import RoundLaunch
from curation.services.triplets.scenes import ReaderDecision, SceneTexts, decide_scene, revise_scene
from curation.services.triplets.triplet_rounds import (
    PlausibilityOptions,
    plausibility_sources,
    triplets_to_explain,
)
from curation.services.triplets.triplets import build_triplets, decide_triplet
from curation.services.versions import create_sealed_version
from hits.domain.states import AssignmentStatus
from hits.models import Hit, Image, Project
from hits.services.errors import Refused
from hits.services.launching.terms import LaunchTerms
from tests.support import nleye_stored as stored
from tests.support.judging.work import Work

pytestmark = pytest.mark.django_db
DROPPED, DRAFT = TripletState.DROPPED, TripletState.DRAFT


def states(project: Project) -> dict[int, TripletState]:
    """Return the state of each triplet by its key, also of those whose images are not available."""
    rows = ImageTriplet.objects.filter(project=project).select_related("scene")
    return {row.triplet.pk: row.state for row in triplet_facts(project, rows)}


def pick(scene: Scene, role: str, image: Any, by: User) -> None:
    pick_image(scene=scene, role=role, image=image, by=by)


def decide(scene: Scene, verdict: SceneVerdict, by: User) -> None:
    reasons = () if verdict in {SceneVerdict.KEEP, SceneVerdict.UNDONE} else (SceneReason.UNSAFE,)
    decide_scene(scene=scene, decision=ReaderDecision(verdict, reasons), by=by)


def test_triplets_of_scenes_that_are_no_longer_kept_are_left_out_by_reason(
    project: Project, admin: User, researcher: User
) -> None:
    triplets = stored.judged_triplets(project, 5, researcher, choices=("right", "right", "right"))
    dropped, to_revise, replaced, undone, _ = (row.scene for row in triplets)
    decide(dropped, SceneVerdict.DROP, researcher)
    decide(to_revise, SceneVerdict.REVISE, researcher)
    decide(undone, SceneVerdict.UNDONE, researcher)
    texts = SceneTexts(f"{replaced.premise} Now.", replaced.plausible_text, replaced.implausible_text)
    revise_scene(scene=replaced, texts=texts, by=None)
    assert list(states(project).values()) == [
        DROPPED,
        TripletState.TO_REVISE,
        DROPPED,
        TripletState.VALIDATED,
        TripletState.VALIDATED,
    ]
    version = create_sealed_version(project=project, name="v1", by=admin)
    assert version.exclusions == {
        "scene_dropped": 1,
        "scene_to_revise": 1,
        "scene_replaced": 1,
        "scene_not_kept": 1,
    }
    assert version.statistics["triplets"] == 1
    decide(dropped, SceneVerdict.KEEP, researcher)
    assert states(project)[triplets[0].pk] is TripletState.VALIDATED, "kept again"


def test_a_keep_counts_for_the_majority_that_it_was_made_for(project: Project, researcher: User) -> None:
    (triplet,) = stored.store_triplets(project, 1, researcher)
    stored.explain([triplet], researcher)

    def keep() -> bool:
        (facts,) = triplet_facts(project)
        decide_triplet(facts=facts, verdict=TripletVerdict.KEEP, by=researcher, note="A known trick.")
        return triplet_facts(project)[0].needs_decision

    keep()
    work = Work(project)
    stored.judge(project, {triplet.public_id: ("wrong", "wrong", "wrong")}, researcher, work=work)
    assert triplet_facts(project)[0].needs_decision, "nobody had judged it"
    assert not keep()
    hit = Hit.objects.get(unit__key=triplet.public_id)
    for number in range(3):
        work.answered(hit, f"K{number}", stored.plausibility_answer(triplet.gold_label))
    facts = triplet_facts(project)[0]
    assert (facts.majority, facts.is_against_gold, facts.needs_decision) == ("", True, True), (
        "a tie is another case"
    )
    assert not keep()


def test_a_persons_take_back_outlives_the_crowds_choice(project: Project, researcher: User) -> None:
    (scene,) = stored.store_scenes(stored.nleye_project(project), 1)
    stored.keep_scenes([scene], researcher)
    first, second = (stored.store_image(scene, "premise", seed=seed) for seed in range(2))
    pick(scene, "premise", first, researcher)
    pick(scene, "premise", None, researcher)
    work = Work(project)
    launch = RoundLaunch(researcher, "Picks", LaunchTerms(redundancy=2))
    work.publish(launch_image_picks(project=project, launch=launch)[0])
    for worker in ("A", "B"):
        answer = {"best": second.image_id, "none": False, "shows_all": "yes", "broken": "no"}
        work.answered(Hit.objects.get(), worker, answer)
    assert apply_crowd_picks(project) == 1, "the crowd was asked after that take-back"
    pick(scene, "premise", None, researcher)
    assert apply_crowd_picks(project) == 0
    assert scene_images([scene])[scene.pk].picks == {}
    assert ImagePick.objects.filter(origin="crowd").count() == 1


def test_a_crowd_pick_waits_for_all_answers_and_needs_two_that_agree(
    project: Project, researcher: User
) -> None:
    scenes = stored.store_scenes(stored.nleye_project(project), 3)
    stored.keep_scenes(scenes, researcher)
    images = {row.public_id: [stored.store_image(row, "premise", seed=n) for n in range(2)] for row in scenes}
    launch = RoundLaunch(researcher, "Picks", LaunchTerms(redundancy=2))
    work = Work(project)
    work.publish(launch_image_picks(project=project, launch=launch)[0])

    def answer(scene: Scene, worker: str, chosen: int, **how: Any) -> None:
        best = images[scene.public_id][chosen].image_id
        hit = Hit.objects.get(unit__key=f"{scene.public_id}-premise")
        work.answered(hit, worker, {"best": best, "none": False, "shows_all": "yes", "broken": "no"}, **how)

    agreed, disagreed, rejected = scenes
    for scene in scenes:
        answer(scene, "A", 0)
    assert apply_crowd_picks(project) == 0, "one of two workers answered"
    answer(agreed, "B", 0)
    answer(disagreed, "B", 1)
    answer(rejected, "B", 0, status=AssignmentStatus.REJECTED)
    assert apply_crowd_picks(project) == 1
    assert ImagePick.objects.get().image == images[agreed.public_id][0]


def test_one_triplet_is_in_use_after_an_image_was_away(project: Project, researcher: User) -> None:
    (old,) = stored.store_triplets(project, 1, researcher)
    Image.objects.filter(pk=old.a.image_id).update(taken_down_at=timezone.now())
    pick(old.scene, "a", stored.store_image(old.scene, "a", seed=9), researcher)
    built = build_triplets(project=project, by=researcher)
    assert (len(built.triplets), built.replaced) == (1, 1)
    Image.objects.update(taken_down_at=None)
    assert states(project) == {old.pk: DROPPED, built.triplets[0].pk: DRAFT}


def test_earlier_picks_bring_their_triplet_back(project: Project, researcher: User) -> None:
    (old,) = stored.store_triplets(project, 1, researcher)
    stored.explain([old], researcher)
    scene = old.scene
    pick(scene, "a", stored.store_image(scene, "a", seed=9), researcher)
    (new,) = build_triplets(project=project, by=researcher).triplets
    pick(scene, "a", old.a, researcher)
    assert image_queue(kept_scenes(project))[0].step is ImageStep.READY
    built = build_triplets(project=project, by=researcher)
    assert (built.triplets, built.restored, built.replaced, built.dropped) == ([], 1, 1, 0)
    assert states(project) == {old.pk: TripletState.ALIGNED, new.pk: DROPPED}
    assert image_queue(kept_scenes(project))[0].step is ImageStep.BUILT
    (facts,) = triplet_facts(project, [new])
    with pytest.raises(Refused, match="another one of its scene is in use"):
        decide_triplet(facts=facts, verdict=TripletVerdict.KEEP, by=researcher, note="Both.")


def test_a_build_undoes_builds_alone_and_counts_what_stays_dropped(
    project: Project, researcher: User
) -> None:
    (old,) = stored.store_triplets(project, 1, researcher)

    def decided(verdict: TripletVerdict) -> None:
        (facts,) = triplet_facts(project, [old])
        decide_triplet(facts=facts, verdict=verdict, by=researcher, note="So.")

    decided(TripletVerdict.REVISE)
    pick(old.scene, "a", other := stored.store_image(old.scene, "a", seed=9), researcher)
    build_triplets(project=project, by=researcher)
    pick(old.scene, "a", old.a, researcher)
    assert build_triplets(project=project, by=researcher).restored == 1
    assert states(project)[old.pk] is TripletState.TO_REVISE, "as the person had decided"
    decided(TripletVerdict.DROP)
    built = build_triplets(project=project, by=researcher)
    assert (built.triplets, built.restored, built.dropped) == ([], 0, 1)
    pick(old.scene, "a", other, researcher)
    assert build_triplets(project=project, by=researcher).restored == 1
    assert sorted(states(project).values()) == [DRAFT, DROPPED]


def test_one_picture_shows_one_role(project: Project, researcher: User) -> None:
    (scene,) = stored.store_scenes(stored.nleye_project(project), 1)
    stored.keep_scenes([scene], researcher)
    image = stored.store_image(scene, "premise")
    origin = stored.ImageOrigin()
    same, other = (
        stored.store_generated_image(
            scene=scene,
            role="a",
            image=found,
            provenance=stored.Provenance(generator="folder"),
            origin=origin,
        )
        for found in (image.image, stored.store_image(scene, "b").image)
    )
    pick(scene, "premise", image, researcher)
    with pytest.raises(Refused, match="image: is the same picture as the one picked for premise"):
        pick(scene, "a", same, researcher)
    assert pick_sources(project) == [], "one candidate that differs is left"
    pick(scene, "a", other, researcher)


def test_a_triplet_with_one_picture_twice_stops_no_round(project: Project, researcher: User) -> None:
    odd, sound = stored.store_triplets(project, 2, researcher)
    other = stored.store_generated_image(
        scene=odd.scene,
        role="b",
        image=odd.a.image,
        provenance=stored.Provenance(generator="folder"),
        origin=stored.ImageOrigin(),
    )
    twice = ImageTriplet.objects.create(
        project=project, scene=odd.scene, premise=odd.premise, a=odd.a, b=other, first="a", gold=1
    )
    assert [row.pk for row in triplets_to_explain(project)] == [odd.pk, sound.pk]
    stored.explain([twice, sound], researcher)
    sources = plausibility_sources(project, PlausibilityOptions())
    assert [row.source.triplet_id for row in sources] == [sound.public_id]


def test_a_release_that_is_withdrawn_hides_the_image_everywhere(
    project: Project, admin: User, researcher: User
) -> None:
    scenes = stored.store_scenes(stored.nleye_project(project), 1)
    stored.keep_scenes(scenes, researcher)
    stored.pick_images(scenes, researcher)
    flagged = stored.store_image(scenes[0], "a", seed=3, flags=["nsfw"])
    release_image(image=flagged, is_safe=True, by=researcher)
    pick(scenes[0], "a", flagged, researcher)
    (triplet,) = build_triplets(project=project, by=researcher).triplets
    stored.explain([triplet], researcher)
    assert len(plausibility_sources(project, PlausibilityOptions())) == 1
    release_image(image=flagged, is_safe=False, by=researcher)
    assert "a" not in scene_images(scenes)[scenes[0].pk].picks
    assert image_queue(scenes)[0].step is ImageStep.HYPOTHESIS_PICKS
    assert not available_triplets(project).exists()
    assert plausibility_sources(project, PlausibilityOptions()) == []
    with pytest.raises(Refused, match="1 triplets with an image that a safety checker flagged"):
        create_sealed_version(project=project, name="v1", by=admin)
    release_image(image=flagged, is_safe=True, by=researcher)
    assert available_triplets(project).count() == 1
