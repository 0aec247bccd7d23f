"""What a page may tell of an image is its kind's choice; a file's name is never among it."""

from collections.abc import Callable

import pytest
from django.test import Client

from hits.domain.images.image_facts import ImageFacts, hide_image_texts
from hits.models import Hit, Image, Project
from hits.mturk.boto import marketplace
from hits.services.launching.launch import PlannedUnit, launch_batch
from hits.services.publishing import publish
from tests.support import market
from tests.support.box_editor import agreed, task_address

SECRETS = ("a glass of wine", "Midjourney, prompt 7", "hypothesis-1-plausible.png")


def test_neutralize_images_replaces_texts_by_image_numbers() -> None:
    images = {
        pk: ImageFacts(pk, f"/{pk}", 4, 3, name="gold.png", alt=f"alt {pk}", credit="me") for pk in (7, 8)
    }
    assert {pk: (f.name, f.alt, f.credit) for pk, f in hide_image_texts(images, [8, 7], ()).items()} == {
        8: ("", "Image 1", ""),
        7: ("", "Image 2", ""),
    }
    assert hide_image_texts(images, [8, 7], {"alt", "credit"})[7].alt == "alt 7"
    assert hide_image_texts(images, [7, 7], ())[7].alt == "Image 1"


@pytest.mark.django_db(transaction=True)
def test_page_and_addresses_hide_excluded_texts(
    project: Project, make_image: Callable[..., Image], client: Client
) -> None:
    market.fund()
    alt, credit, name = SECRETS
    photos = [make_image(seed) for seed in (1, 2)]
    Image.objects.update(alt=alt, credit=credit, name=name)
    unit = {"left": photos[0].pk, "right": photos[1].pk}
    batch, _ = launch_batch(
        project=project, kind_name="two_photos", name="Pairs", units=[PlannedUnit("pair", unit)], by=None
    )
    publish.publish_batch(batch=batch, marketplace=marketplace())
    task = agreed(market.accept(Hit.objects.get(unit__batch=batch), market.market_worker("wilma")))
    address = task_address(task)
    reply = client.get(address, HTTP_HOST=address.split("/")[2])
    page = reply.content.decode() + "".join(reply.headers.values())
    assert not [secret for secret in SECRETS if secret in page]
    assert "Image 1" in page
    assert "Image 2" in page
