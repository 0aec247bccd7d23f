"""Thousands of photos sent from the page, one request each: no web process keeps them in memory."""

import io
import json
import os
import urllib.request
from collections.abc import Iterator
from concurrent.futures import ThreadPoolExecutor
from importlib import import_module
from pathlib import Path

import numpy as np
import pytest
from django.conf import settings
from django.contrib.auth import BACKEND_SESSION_KEY, HASH_SESSION_KEY, SESSION_KEY
from django.contrib.auth.models import User
from PIL import Image as Pillow

from hits.models import Image, Project
from tests.support import children

pytestmark = pytest.mark.django_db(transaction=True)
AT_ONCE = 2  # as static/js/ui/upload.js sends them
MOST_GROWTH_MIB = 150
TOKEN = "t" * 32
BOUNDARY = "photo-after-photo"


def photo(number: int) -> bytes:
    """Return a JPEG of half a megapixel and a few hundred kilobytes, as phones make them, only smaller."""
    pixels = np.random.default_rng(number).integers(0, 256, (600, 800, 3), dtype=np.uint8)
    buffer = io.BytesIO()
    Pillow.fromarray(pixels).save(buffer, "JPEG", quality=80)
    return buffer.getvalue()


def session_of(user: User) -> str:
    store = import_module(settings.SESSION_ENGINE).SessionStore()
    store[SESSION_KEY], store[BACKEND_SESSION_KEY] = str(user.pk), settings.AUTHENTICATION_BACKENDS[-1]
    store[HASH_SESSION_KEY] = user.get_session_auth_hash()
    store.save()
    return str(store.session_key)


def send(port: int, path: str, session: str, number: int) -> int:
    """Send one photo as the page's queue does, and return the status of the answer."""
    head = (
        f'--{BOUNDARY}\r\nContent-Disposition: form-data; name="file"; filename="{number}.jpg"\r\n'
        "Content-Type: image/jpeg\r\n\r\n"
    )
    body = head.encode() + photo(number) + f"\r\n--{BOUNDARY}--\r\n".encode()
    request = urllib.request.Request(f"http://localhost:{port}{path}", data=body, method="POST")
    request.add_header("Content-Type", f"multipart/form-data; boundary={BOUNDARY}")
    request.add_header(
        "Cookie", f"{settings.SESSION_COOKIE_NAME}={session}; {settings.CSRF_COOKIE_NAME}={TOKEN}"
    )
    request.add_header("X-CSRFToken", TOKEN)
    with urllib.request.urlopen(request, timeout=120) as reply:
        return int(reply.status)


def web_processes(first: int) -> Iterator[int]:
    yield first
    for line in Path(f"/proc/{first}/task/{first}/children").read_text().split():
        yield int(line)


def held_mib(process: int) -> float:
    """Return the memory that a process holds, its share of what is shared included."""
    rows = Path(f"/proc/{process}/smaps_rollup").read_text().splitlines()
    return next(int(row.split()[1]) for row in rows if row.startswith("Pss:")) / 1024


@pytest.mark.parametrize("count", [40, pytest.param(2000, marks=pytest.mark.nightly)])
def test_web_process_memory_is_independent_of_uploads(
    researcher: User, project: Project, count: int, capsys: pytest.CaptureFixture[str]
) -> None:
    session = session_of(researcher)
    path = f"/projects/{project.slug}/photos/add"
    Path(settings.MEDIA_ROOT).mkdir(parents=True, exist_ok=True)
    with children.web_server() as (port, process), ThreadPoolExecutor(AT_ONCE) as pool:
        idle = {one: held_mib(one) for one in web_processes(process.pid)}
        sent = list(pool.map(lambda number: send(port, path, session, number), range(count)))
        after = {one: held_mib(one) for one in web_processes(process.pid)}
    assert sent == [201] * count
    assert Image.objects.filter(project=project).count() == count
    growth = {one: after[one] - idle[one] for one in idle}
    found = {
        "photos": count,
        "idle_mib": [round(value) for value in idle.values()],
        "grown_mib": [round(value, 1) for value in growth.values()],
        "load": round(os.getloadavg()[0], 1),
    }
    with capsys.disabled():
        print(json.dumps(found))  # noqa: T201 - the figures of docs/performance.md
    assert max(growth.values()) <= MOST_GROWTH_MIB
