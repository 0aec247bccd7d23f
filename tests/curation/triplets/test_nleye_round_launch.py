"""What rounds about image triplets ask, and what their attention checks borrow."""

import pytest
from django.contrib.auth.models import User

from curation.models import ExplanationSource, ImageTriplet, TripletExplanation
from curation.services.triplets import triplet_rounds
from curation.services.triplets.explanation_rounds import explanation_sources
from curation.services.triplets.pick_rounds import pick_sources
from curation.services.triplets.round_launch import RoundLaunch
from curation.services.triplets.triplet_rounds import (
    PlausibilityOptions,
    launch_plausibility,
    plausibility_sources,
)
from hits.models import Batch, Project, Unit
from hits.services.launching.terms import LaunchTerms
from tests.support import nleye_stored as stored
from validation.domain.judging.quality_check_types import CheckRates
from validation.domain.judging.triplet_shapes import Shape
from validation.models import QualityCheck

pytestmark = pytest.mark.django_db


def launch(project: Project, by: User, attention: int = 0) -> Batch:
    rates = CheckRates(attention=attention)
    options = RoundLaunch(by, "Plausibility", LaunchTerms(redundancy=1), rates=rates)
    return launch_plausibility(project=project, options=PlausibilityOptions(), launch=options)[0]


def triplets(project: Project, count: int, by: User, domain: str) -> list[ImageTriplet]:
    """Store explained triplets about a domain."""
    scenes = stored.store_scenes(stored.nleye_project(project), count, domain=domain)
    stored.keep_scenes(scenes, by)
    stored.pick_images(scenes, by)
    built = stored.build_triplets(project=project, by=by).triplets
    stored.explain(built, by)
    return built


def borrowed(batch: Batch) -> list[tuple[str, str]]:
    """Return the domains of each attention check: that of its premise, and that of the image that stands in."""
    by_image = {
        image.image_id: row
        for row in ImageTriplet.objects.select_related("scene", "premise", "a", "b")
        for image in (row.premise, row.a, row.b)
    }
    found = []
    for check in QualityCheck.objects.filter(unit__batch=batch).select_related("unit"):
        unit = check.unit.payload
        wrong = f"h{3 - unit['gold']}"
        host = by_image[unit["images"]["premise"]]
        donor = by_image[unit["images"][wrong]]
        assert donor != host
        found.append((host.scene.domain, donor.scene.domain))
    return found


def test_checks_borrow_from_earlier_rounds_and_from_another_domain(
    project: Project, researcher: User, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(triplet_rounds, "MIN_DONORS", 4)
    triplets(project, 2, researcher, "Sports")
    triplets(project, 2, researcher, "Health")
    launch(project, researcher)
    triplets(project, 6, researcher, "Home")
    batch = launch(project, researcher, attention=50)
    found = borrowed(batch)
    assert len(found) == 3
    assert {host for host, _ in found} == {"Home"}
    assert {donor for _, donor in found} <= {"Sports", "Health"}


def test_few_earlier_triplets_are_joined_by_those_of_the_round(project: Project, researcher: User) -> None:
    triplets(project, 3, researcher, "Home")
    triplets(project, 3, researcher, "Health")
    found = borrowed(launch(project, researcher, attention=50))
    assert len(found) == 3
    assert all(host != donor for host, donor in found)


def test_sources_are_what_a_launch_asks(project: Project, researcher: User) -> None:
    built = triplets(project, 3, researcher, "Home")
    assert len(plausibility_sources(project, PlausibilityOptions())) == 3
    pairs = plausibility_sources(project, PlausibilityOptions(shape=Shape.PAIR))
    assert len(pairs) == 6
    launch(project, researcher)
    assert plausibility_sources(project, PlausibilityOptions()) == []
    assert Unit.objects.filter(batch__project=project).count() == len(built)


def test_a_text_about_the_triplet_itself_is_no_decoy(project: Project, researcher: User) -> None:
    built = triplets(project, 2, researcher, "Home")
    same, other = "It fell.", "Somebody threw the ball."
    for row, texts in zip(built, ((same, other), (same, "The lamp was old.")), strict=True):
        for text in texts:
            TripletExplanation.objects.create(triplet=row, text=text, source=ExplanationSource.CROWD.value)
    for _ in range(10):
        for page in explanation_sources(project, decoys=True):
            shown = {row.text for row in page.source.explanations}
            assert len(shown) == len(page.source.explanations) == 3


def test_roles_without_a_pick_are_asked_once_they_have_two_candidates(
    project: Project, researcher: User
) -> None:
    (scene,) = stored.store_scenes(stored.nleye_project(project), 1)
    stored.keep_scenes([scene], researcher)
    stored.store_image(scene, "premise")
    assert pick_sources(project) == []
    stored.store_image(scene, "premise", seed=1)
    for role in ("a", "b"):
        stored.store_image(scene, role)
        stored.store_image(scene, role, seed=1)
    assert [row.source.role for row in pick_sources(project)] == ["premise"]
