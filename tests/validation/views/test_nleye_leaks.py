"""What a worker's browser gets about an image triplet, searched whole: page, settings, headers, replies, images."""

import json
import os
import re
from typing import Any
from urllib.parse import urlsplit

import pytest
from django.conf import settings
from django.test import Client
from django.urls import reverse

from hits.models import Hit, Image, Project
from hits.selectors.images.images import image_url
from hits.services.collecting import submit
from hits.services.images.import_image import ImageDescription, import_image
from tests.support import market, nleye_units
from tests.support.box_editor import task_address
from tests.support.loop import page_key
from tests.support.pictures import picture

pytestmark = pytest.mark.django_db(transaction=True)
SECRET = "sentinel"
# Words of the field names that only the server knows.
SERVER_WORDS = ("gold", "item-", "triplet-of-the-lamp", "scene-of-the-lamp", "decoy", SECRET)
PLAUSIBILITY = "triplet_plausibility"


@pytest.fixture
def images(project: Project) -> dict[str, int]:
    """Import three images whose name, alternative text and credit are sentinels."""
    market.fund()
    description = ImageDescription(alt=f"{SECRET} alt", credit=f"{SECRET} credit")
    return {
        role: import_image(
            project=project, name=f"{SECRET}-{role}.png", data=picture(seed=seed), description=description
        )[0].pk
        for seed, role in enumerate(("premise", "h1", "h2"))
    }


def all_that_is_sent(client: Client, hit: Hit, *, worker: str = "wanda") -> str:
    """Return everything that the server sends: a preview, the page before and after opening, and the images.

    The address of the page itself is left out: its ids are the marketplace's.
    """
    task = market.accept(hit, market.market_worker(worker))
    address = task_address(task)
    host = address.split("/")[2]
    key = page_key(hit, task.slot.assignment_id, task.worker.worker_id)
    preview = re.sub(r"[?].*", "", address)
    sent = [_sent(client.get(preview, HTTP_HOST=host)), _sent(client.get(address, HTTP_HOST=host))]
    submit.record_consent(key=key, version=1, country="US")
    submit.open_attempt(key)
    page = client.get(address, HTTP_HOST=host)
    sent.append(_sent(page))
    config = json.loads(
        re.search(r'id="hit-config"[^>]*>(.*?)</script>', page.content.decode(), re.DOTALL)[1]
    )  # type: ignore[index]
    bearer = {"HTTP_AUTHORIZATION": f"Bearer {config['token']}", "HTTP_HOST": host}
    for name, body in (("open", {}), ("hints", {"answer": {"why": "Image 1 has the same colour"}})):
        reply = client.post(reverse(f"hit-api-{name}"), body, content_type="application/json", **bearer)
        assert reply.status_code == 200, reply.content
        sent.append(_sent(reply))
    for url in set(re.findall(r'src="[^"]*(/media/[^"]+)"', page.content.decode())):
        media = client.get(url, HTTP_HOST=host)
        assert media.status_code == 200
        sent.append(f"{url} {dict(media.headers)}")
    return "\n".join(sent)


def _sent(reply: Any) -> str:
    assert reply.status_code == 200
    return f"{dict(reply.headers)}\n{reply.content.decode()}"


@pytest.mark.parametrize("show", ["triplet", "pair", "hypotheses_only"])
def test_nothing_that_a_judge_gets_reveals_the_gold(
    show: str, client: Client, project: Project, images: dict[str, int]
) -> None:
    unit = nleye_units.plausibility_unit(images, show=show)
    sent = all_that_is_sent(client, nleye_units.launched(project, PLAUSIBILITY, unit))
    for word in SERVER_WORDS:
        assert word not in sent, f"{word!r} reaches the worker"
    for text in nleye_units.TEXTS.values():
        assert text not in sent
    hidden = set(images) - set(unit["images"])
    assert len(set(re.findall(r"/media/[^\"?\\]+\.\w+", sent))) == 3 - len(hidden)
    for role in hidden:
        assert str(Image.objects.get(pk=images[role]).file) not in sent, f"the {role} is not there at all"


def test_images_of_a_task_have_no_order_of_generation(
    client: Client, project: Project, images: dict[str, int]
) -> None:
    replies = []
    for hour, key in enumerate(images.values()):
        file = Image.objects.get(pk=key).file
        os.utime(file.path, (1_700_000_000 + 3600 * hour,) * 2)
        url = urlsplit(image_url(Image.objects.get(pk=key))).path
        host = urlsplit(settings.HIT_ORIGIN).netloc
        reply = client.get(url, HTTP_HOST=host)
        assert b"".join(reply.streaming_content) == file.open("rb").read()
        # A time between those of two files separates nothing either.
        asked = client.get(url, HTTP_HOST=host, HTTP_IF_MODIFIED_SINCE="Tue, 14 Nov 2023 23:00:00 GMT")
        assert (asked.status_code, asked.headers) == (200, reply.headers)
        again = client.get(url, HTTP_HOST=host, HTTP_IF_NONE_MATCH=reply["ETag"])
        assert (again.status_code, again["Cache-Control"]) == (304, reply["Cache-Control"])
        own = {"ETag", "Content-Length", "Content-Disposition"}  # by the hash and the pixels alone
        replies.append({name: value for name, value in reply.headers.items() if name not in own})
        assert reply["ETag"] == f'"{file.name[10:74]}"'
    assert replies[0] == replies[1] == replies[2]
    assert "Last-Modified" not in replies[0]


@pytest.mark.parametrize("kind", [PLAUSIBILITY, "explanation_selection", "image_pick"])
def test_judging_pages_have_no_texts_of_images(
    kind: str, client: Client, project: Project, images: dict[str, int]
) -> None:
    unit = {
        PLAUSIBILITY: lambda: nleye_units.plausibility_unit(images),
        "explanation_selection": lambda: nleye_units.selection_unit(images),
        "image_pick": lambda: nleye_units.pick_unit(images),
    }[kind]()
    sent = all_that_is_sent(client, nleye_units.launched(project, kind, unit))
    for word in (SECRET, "item-", "triplet-of-the-lamp", "scene-of-the-lamp"):
        assert word not in sent
    named = re.findall(r'<img src="[^"]*/media/[^"]*" alt="([^"]*)"', sent)
    assert set(named) == {"Context", "Image 1", "Image 2"}


def test_page_is_the_same_whichever_hypothesis_is_gold(
    client: Client, project: Project, images: dict[str, int]
) -> None:
    """Two units of one key that differ in gold, item and triplet give the same page, but for keys of the attempt."""
    pages = []
    for gold, worker in ((1, "wanda"), (2, "willi")):
        unit = nleye_units.plausibility_unit(images, gold=gold, item=f"i{gold}", triplet=f"t{gold}")
        hit = nleye_units.launched(project, PLAUSIBILITY, unit)
        sent = all_that_is_sent(client, hit, worker=worker)
        # The preview, and the opened task; between them the page waits, without a unit.
        pages.append(
            re.findall(r'<main class="work">.*?</main>|"unit": [{].*?"max_characters": \d+', sent, re.DOTALL)
        )
    assert len(pages[0]) == 5
    assert pages[0] == pages[1]
