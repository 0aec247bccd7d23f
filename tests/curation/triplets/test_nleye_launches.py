"""Launches at the same moment ask once; a round that nobody answered uses nothing up."""

import threading
from collections import Counter
from collections.abc import Callable

import pytest
from django.contrib.auth.models import User
from django.db import connections

from curation.models import ExplanationSource, TripletExplanation
from curation.services.triplets.explanation_rounds import (
    explanation_sources,
    launch_explanations,
    take_in_crowd_explanations,
)
from curation.services.triplets.round_launch import RoundLaunch
from curation.services.triplets.scene_rounds import launch_scene_review, reviewable_scenes
from curation.services.triplets.triplet_rounds import (
    PlausibilityOptions,
    launch_plausibility,
    plausibility_sources,
)
from hits.domain.states import BatchState
from hits.models import Batch, Hit, Project, Unit
from hits.services.errors import Refused
from hits.services.launching.terms import LaunchTerms
from tests.support import market
from tests.support import nleye_stored as stored
from tests.support.judging.work import Work

pytestmark = pytest.mark.django_db(transaction=True)


def at_once(call: Callable[[int], object], count: int = 3) -> list[object]:
    """Call a function in threads that start together; an error's class name stands for its result."""
    found: list[object] = []
    start = threading.Barrier(count)

    def run(number: int) -> None:
        start.wait()
        try:
            found.append(call(number))
        except Refused as error:
            found.append(type(error).__name__)
        finally:
            connections.close_all()

    threads = [threading.Thread(target=run, args=(number,)) for number in range(count)]
    for thread in threads:
        thread.start()
    for thread in threads:
        thread.join()
    return found


def launch(by: User, number: int = 0) -> RoundLaunch:
    return RoundLaunch(by, f"Round {number}", LaunchTerms(redundancy=3))


def test_launches_at_the_same_moment_ask_for_each_unit_once(project: Project, researcher: User) -> None:
    market.fund(10_000_000)
    triplets = stored.judged_triplets(project, 2, researcher, choices=("right", "right", "right"))
    assert sorted(map(str, at_once(lambda _: take_in_crowd_explanations(project)))) == ["0", "0", "6"]
    scenes = stored.store_scenes(project, 2)
    more = stored.store_triplets(project, 2, researcher)
    stored.explain(more, researcher)
    options = PlausibilityOptions()
    calls: list[Callable[[int], object]] = [
        lambda number: (
            launch_plausibility(project=project, options=options, launch=launch(researcher, number))[0].pk
        ),
        lambda number: launch_scene_review(project=project, launch=launch(researcher, number))[0].pk,
        lambda number: launch_explanations(project=project, launch=launch(researcher, number))[0].pk,
    ]
    for call in calls:
        assert Counter(isinstance(row, int) for row in at_once(call)) == {True: 1, False: 2}
    keys = Counter(Unit.objects.values_list("batch__kind", "key"))
    assert set(keys.values()) == {1}
    assert Counter(kind for kind, _ in keys) == {
        "triplet_plausibility": len(triplets) + len(more),
        "scene_review": len(scenes),
        "explanation_selection": 2,
    }


def closed(batch: Batch) -> None:
    Batch.objects.filter(pk=batch.pk).update(state=BatchState.CLOSED)


def test_a_closed_round_uses_up_what_was_answered_alone(project: Project, researcher: User) -> None:
    triplets = stored.store_triplets(project, 2, researcher)
    stored.explain(triplets, researcher)
    options = PlausibilityOptions()
    work = Work(project)
    batch, _ = launch_plausibility(project=project, options=options, launch=launch(researcher))
    work.publish(batch)
    assert plausibility_sources(project, options) == [], "an open round uses its units up"
    answered, waiting = Hit.objects.filter(unit__batch=batch).select_related("unit")
    work.answered(answered, "J", stored.plausibility_answer("h1"))
    closed(batch)
    sources = plausibility_sources(project, options)
    assert [row.source.id for row in sources] == [waiting.unit.key]
    again, _ = launch_plausibility(project=project, options=options, launch=launch(researcher, 1))
    assert Unit.objects.get(batch=again).key == waiting.unit.key


def test_reviews_and_pages_of_explanations_that_nobody_answered_are_asked_again(
    project: Project, researcher: User
) -> None:
    (scene,) = stored.store_scenes(stored.nleye_project(project), 1)
    batch, _ = launch_scene_review(project=project, launch=launch(researcher))
    assert reviewable_scenes(project) == []
    closed(batch)
    assert reviewable_scenes(project) == [scene]
    (triplet,) = stored.store_triplets(project, 1, researcher)
    for text in ("It fell.", "Somebody threw the ball."):
        TripletExplanation.objects.create(triplet=triplet, text=text, source=ExplanationSource.CROWD.value)
    batch, _ = launch_explanations(project=project, launch=launch(researcher))
    assert explanation_sources(project) == []
    closed(batch)
    assert len(explanation_sources(project)) == 1
