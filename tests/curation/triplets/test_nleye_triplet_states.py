"""A triplet's way: draft, aligned, validated; against gold it waits for a decision with a note."""

from typing import Any

import pytest
from django.contrib.auth.models import User

from curation.models import TripletVerdict
from curation.selectors.triplets.triplets import TripletState, triplet_facts
from curation.services.triplets.triplets import build_triplets, decide_triplet
from hits.models import Project
from hits.services.errors import Conflict, Refused
from tests.support.nleye_stored import (
    explain,
    judge,
    judged_triplets,
    pick_images,
    store_triplets,
)

pytestmark = pytest.mark.django_db


def _states(project: Project) -> list[TripletState]:
    return [row.state for row in triplet_facts(project)]


def test_a_triplet_goes_from_draft_to_validated(project: Project, researcher: User) -> None:
    triplets = store_triplets(project, 2, researcher)
    assert _states(project) == [TripletState.DRAFT] * 2
    explain(triplets, researcher)
    assert _states(project) == [TripletState.ALIGNED] * 2
    choices = {triplets[0].public_id: ("right", "right", "wrong"), triplets[1].public_id: ("right", "wrong")}
    judge(project, choices, researcher)
    assert _states(project) == [TripletState.VALIDATED, TripletState.ALIGNED]


def test_a_majority_against_gold_waits_for_a_decision_with_a_note(project: Project, researcher: User) -> None:
    judged_triplets(project, 1, researcher, choices=("wrong", "wrong", "right"))
    facts = triplet_facts(project)[0]
    assert facts.needs_decision
    with pytest.raises(Refused, match="note: say why"):
        decide_triplet(facts=facts, verdict=TripletVerdict.KEEP, by=researcher)
    decide_triplet(facts=facts, verdict=TripletVerdict.KEEP, by=researcher, note="A known trick.", seen=0)
    with pytest.raises(Conflict, match="triplet: somebody decided"):
        decide_triplet(facts=facts, verdict=TripletVerdict.DROP, by=researcher, seen=0)
    after = triplet_facts(project)[0]
    assert (after.state, after.needs_decision) == (TripletState.VALIDATED, False)


def test_building_again_builds_nothing_and_new_picks_replace(project: Project, researcher: User) -> None:
    triplets = store_triplets(project, 3, researcher)
    assert build_triplets(project=project, by=researcher).triplets == []
    pick_images([triplets[0].scene], researcher)
    built: Any = build_triplets(project=project, by=researcher)
    assert (len(built.triplets), built.replaced) == (1, 1)
    assert sorted(_states(project)) == [TripletState.DRAFT] * 3 + [TripletState.DROPPED]


def test_gold_is_balanced_in_each_category(project: Project, researcher: User) -> None:
    triplets = store_triplets(project, 24, researcher)
    by_category: dict[str, list[int]] = {}
    for row in triplets:
        by_category.setdefault(row.scene.category, []).append(row.gold)
    assert all(sorted(golds) == [1, 1, 2, 2] for golds in by_category.values())
