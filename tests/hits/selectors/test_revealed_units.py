"""Who knows too much about a thing from one kind's page gets no unit of a kind that must not know it."""

from collections.abc import Callable

import pytest

from hits import registry
from hits.marketplace.errors import ActionRefused as MarketRefused
from hits.models import Hit, Image, Project
from hits.mturk.boto import marketplace
from hits.services.collecting.submit import NotEligible, open_attempt, record_consent
from hits.services.launching.launch import PlannedUnit, launch_batch
from hits.services.launching.terms import LaunchTerms
from hits.services.publishing import publish
from tests.support import market
from tests.support.loop import page_key, published

pytestmark = pytest.mark.django_db(transaction=True)
MakeImage = Callable[..., Image]


def _open(task: market.Accepted) -> None:
    key = page_key(task.hit, task.slot.assignment_id, task.worker.worker_id)
    record_consent(key=key, version=1, country="US")
    open_attempt(key)


@pytest.fixture
def hits(project: Project, make_image: MakeImage, monkeypatch: pytest.MonkeyPatch) -> tuple[Hit, Hit, Hit]:
    """A unit that tells about photo 1, and blind units about photos 1 and 2."""
    monkeypatch.setattr(type(registry.get_kind("sherlock_observation")), "reveals", ("image",))
    monkeypatch.setattr(type(registry.get_kind("photo_verdict")), "blind_to", ("image",))
    market.fund()
    images = [make_image(1), make_image(2)]
    telling = published(project, images[:1])
    units = [
        PlannedUnit(f"item-{image.pk}", {"item": f"item-{image.pk}", "image": image.pk, "text": "a dog"})
        for image in images
    ]
    terms = LaunchTerms(redundancy=1)
    blind, _ = launch_batch(
        project=project, kind_name="photo_verdict", name="B", units=units, by=None, terms=terms
    )
    publish.publish_batch(batch=blind, marketplace=marketplace())
    found = [Hit.objects.get(unit__batch=telling), *Hit.objects.filter(unit__batch=blind).order_by("pk")]
    return found[0], found[1], found[2]


def test_a_worker_who_opened_a_revealing_unit_cannot_accept_a_blind_one(hits: tuple[Hit, Hit, Hit]) -> None:
    telling, same, other = hits
    worker = market.market_worker()
    _open(market.accept(telling, worker))
    with pytest.raises(MarketRefused, match="You know this item from another task"):
        market.accept(same, worker)
    _open(market.accept(other, worker))
    _open(market.accept(same, market.market_worker("otto")))


def test_a_blind_unit_that_was_accepted_before_the_revealing_page_does_not_open(
    hits: tuple[Hit, Hit, Hit],
) -> None:
    telling, same, _ = hits
    worker = market.market_worker()
    waiting = market.accept(same, worker)
    _open(market.accept(telling, worker))
    with pytest.raises(NotEligible, match="You know this item from another task"):
        _open(waiting)
