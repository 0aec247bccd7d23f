"""Console pages about answers to image triplets: images in the order that the worker saw, choice and words."""

import re
from typing import Any

import pytest
from django.contrib.auth.models import User
from django.test import Client
from django.urls import reverse

from hits.domain.images.image_triplets import HYPOTHESES
from hits.models import Assignment, Hit, Image, Project, Submission
from hits.mturk.boto import marketplace
from hits.services.launching.launch import PlannedUnit, launch_batch
from hits.services.launching.terms import LaunchTerms
from hits.services.publishing.publish import publish_batch
from tests.support import market, nleye_units
from tests.support.loop import collected, page_key, store
from tests.support.pages import squeezed

pytestmark = pytest.mark.django_db(transaction=True)


@pytest.fixture
def images(project: Project) -> dict[str, int]:
    market.fund()
    return nleye_units.three_images(project, size=96)


def answered(hit: Hit, worker: str, answer: dict[str, Any], **changes: str) -> Assignment:
    """Take a task, answer it and copy the marketplace's assignment."""
    task = market.accept(hit, market.market_worker(worker))
    key = page_key(hit, task.slot.assignment_id, task.worker.worker_id)
    market.submit_form(task, store(key, answer), **changes)
    return next(row for row in collected(hit.unit.batch) if row.assignment_id == task.slot.assignment_id)


def shown_files(page: str) -> list[str]:
    return re.findall(r'<img src="[^"]*/media/([^"]+)"', page)


def test_reviewer_sees_the_order_that_each_worker_saw(
    client: Client, researcher: User, project: Project, images: dict[str, int]
) -> None:
    client.force_login(researcher)
    batch, _ = launch_batch(
        project=project,
        kind_name="triplet_plausibility",
        name="Play",
        units=[PlannedUnit("unit", nleye_units.plausibility_unit(images))],
        by=None,
        terms=LaunchTerms(redundancy=2),
    )
    publish_batch(batch=batch, marketplace=marketplace())
    answer = {"choice": "h1", "why": nleye_units.WHY, "certainty": "somewhat", "ratings": {"h1": 5, "h2": 2}}
    files = {role: str(Image.objects.get(pk=pk).file) for role, pk in images.items()}
    orders = []
    for worker in ("wanda", "willi"):
        row = answered(Hit.objects.get(unit__batch=batch), worker, answer)
        order = Submission.objects.get(assignment=row).shown["order"]  # type: ignore[index]
        page = squeezed(client.get(reverse("assignment-detail", args=[row.pk])))
        assert shown_files(page) == [files[role] for role in ("premise", *order)]
        chosen = re.search(r"<b>Image (\d)</b><span class=\"badge badge--info\">.{0,200}?Chosen", page)
        assert chosen
        assert int(chosen[1]) == order.index("h1") + 1
        assert nleye_units.WHY in page
        assert "fairly certain" in page
        assert "gold" not in page.lower(), "the gold would lead the reviewer's eye"
        orders.append(tuple(order))
    assert set(orders) == {HYPOTHESES, HYPOTHESES[::-1]}, "two workers, two orders"


def test_submission_without_a_stored_answer_shows_no_images_of_an_answer(
    client: Client, researcher: User, project: Project, images: dict[str, int]
) -> None:
    client.force_login(researcher)
    whole = {"choice": "h1", "why": nleye_units.WHY, "certainty": "certain", "ratings": {"h1": 5, "h2": 2}}
    written = {
        "explanation": nleye_units.WHY,
        "category": "physical",
        "direction": "parallel",
        "alignment": {"premise": "yes", "h1": "yes", "h2": "yes"},
    }
    tasks: dict[str, tuple[dict[str, Any], dict[str, Any]]] = {
        "triplet_plausibility": (nleye_units.plausibility_unit(images), whole),
        "explanation_selection": (nleye_units.selection_unit(images), {"valid": [], "none": True}),
        "image_pick": (nleye_units.pick_unit(images), {"none": True}),
        "nleye_explanation_writing": (nleye_units.writing_unit(images), written),
    }
    for kind, (unit, answer) in tasks.items():
        row = answered(nleye_units.launched(project, kind, unit), f"one-{kind}"[:20], answer, sha256="0" * 64)
        assert row.submission is None
        reply = client.get(reverse("assignment-detail", args=[row.pk]))
        assert reply.status_code == 200, kind
        assert b"No stored answer" in reply.content, kind


def test_judged_pick_names_the_image_by_its_number_on_the_page(
    client: Client, researcher: User, project: Project, images: dict[str, int]
) -> None:
    client.force_login(researcher)
    hit = nleye_units.launched(project, "image_pick", nleye_units.pick_unit(images))
    answer = {"best": images["h2"], "none": False, "shows_all": "yes", "same": "yes", "broken": "no"}
    answered(hit, "wanda", answer)
    page = squeezed(client.get(reverse("judging-item", args=[project.slug, "image_pick", "unit"])))
    assert '<td data-label="Best image">image 3</td>' in page, "after the context and the first candidate"
