"""What may be sent where: announced lengths, forms in the wrong place, and pages that say what to do."""

import errno
import json
import os
from io import BytesIO
from typing import Any

import pytest
from django.contrib.auth.models import User
from django.core.files.uploadhandler import TemporaryFileUploadHandler
from django.db import OperationalError
from django.test import Client
from django.urls import NoReverseMatch, get_resolver, reverse

from annotation_site import views
from annotation_site.request_limits import DEFAULT_LIMIT, UPLOAD_LIMITS, max_body_bytes
from hits.domain.units.unit_files import MAX_BYTES
from hits.models import Project

pytestmark = pytest.mark.django_db
ADDRESSES = ["/", "/sign-in/", "/mturk/", "/a/xyz/mturk/externalSubmit", "/mturk/externalSubmit", "/nowhere"]


def announced(client: Client, path: str, length: int, **more: Any) -> Any:
    """Announce a body of that length and send none of it: nothing may be read."""

    class Unread(BytesIO):
        def read(self, *args: Any) -> bytes:
            raise AssertionError("the body was read")

    more = {"CONTENT_TYPE": "multipart/form-data; boundary=x"} | more
    return client.generic("POST", path, **more, CONTENT_LENGTH=str(length), **{"wsgi.input": Unread()})


@pytest.mark.parametrize("path", ADDRESSES)
def test_too_large_request_is_refused_before_reading(path: str) -> None:
    assert announced(Client(), path, 400 * 1024**2).status_code == 413
    assert announced(Client(), path, DEFAULT_LIMIT + 1).status_code == 413


@pytest.mark.parametrize("length", ["-1", "1e9", "0x10", "٣"])
def test_invalid_content_length_is_refused(length: str) -> None:
    reply = Client().generic("POST", "/sign-in/", b"", CONTENT_LENGTH=length)
    assert reply.status_code in {400, 403, 413}


def test_upload_is_refused_without_a_project(researcher: User, project: Project) -> None:
    path = reverse("project-images", args=[project.slug])
    assert announced(Client(), path, 50 * 1024**2).status_code == 413
    worker = Client()
    worker.force_login(User.objects.create_user("wilma"))
    assert announced(worker, path, 50 * 1024**2).status_code == 413
    known = Client(raise_request_exception=False)
    known.force_login(researcher)
    assert announced(known, path, 101 * 1024**2).status_code == 413
    request = known.get(path).wsgi_request
    assert max_body_bytes(request) == UPLOAD_LIMITS["project-images"]


def test_refusal_is_a_page_for_browsers_and_json_for_programs() -> None:
    page = announced(Client(), "/sign-in/", DEFAULT_LIMIT + 1, HTTP_ACCEPT="text/html")
    assert "Nothing was sent" in page.content.decode()
    assert "at most 3 MB" in page.content.decode()
    assert (
        announced(Client(), "/api/jobs/1/", DEFAULT_LIMIT + 1)
        .json()["error"]
        .startswith("The request is too large")
    )


def test_every_upload_address_is_in_the_table() -> None:
    known = {
        f"{prefix}{name}"
        for prefix, resolver in [("", get_resolver()), *namespaces()]
        for name in resolver.reverse_dict
        if isinstance(name, str)
    }
    assert set(UPLOAD_LIMITS) <= known
    assert UPLOAD_LIMITS["units-new"] > MAX_BYTES  # a form stands around the file


def namespaces() -> list[tuple[str, Any]]:
    return [(f"{name}:", found[1]) for name, found in get_resolver().namespace_dict.items()]


@pytest.mark.parametrize("path", ["/mturk/", "/a/xyz/mturk/externalSubmit", "/sign-in/", "/hit/api/open"])
@pytest.mark.parametrize(
    "body", [b"abc", b'--x\r\nContent-Disposition: form-data; name="a"\r\n\r\nb\r\n--x--\r\n']
)
def test_form_with_files_is_refused_at_every_address(path: str, body: bytes) -> None:
    client = Client(raise_request_exception=False)
    host = {"HTTP_HOST": "127.0.0.1:8000"} if path.startswith("/hit/") else {}
    reply = client.generic("POST", path, body, content_type="multipart/form-data; boundary=x", **host)
    assert reply.status_code < 500
    if path == "/mturk/":
        assert json.loads(reply.content)["__type"]


def test_grades_sent_as_a_form_are_refused_as_json(researcher: User, project: Project) -> None:
    client = Client(raise_request_exception=False)
    client.force_login(researcher)
    try:
        path = reverse("applicants-grades", args=[project.slug, 1])
    except NoReverseMatch:
        path = next(
            reverse(name, args=[project.slug, 1])
            for name in get_resolver().reverse_dict
            if isinstance(name, str) and name.endswith("grades")
        )
    reply = client.post(path, {"file": BytesIO(b"x")})
    assert reply.status_code in {400, 404}


def test_too_many_files_show_the_limit(researcher: User, project: Project, settings: Any) -> None:
    settings.DATA_UPLOAD_MAX_NUMBER_FILES = 3
    client = Client(raise_request_exception=False)
    client.force_login(researcher)
    files = [BytesIO(b"x") for _ in range(4)]
    for n, file in enumerate(files):
        file.name = f"{n}.jpg"
    reply = client.post(reverse("project-images", args=[project.slug]), {"files": files})
    assert reply.status_code == 400
    assert "Too many files were sent at once" in reply.content.decode()
    assert "Deerstalker" in reply.content.decode()


def test_full_disk_during_upload_shows_a_page(
    researcher: User, project: Project, monkeypatch: pytest.MonkeyPatch
) -> None:
    def refuse(self: object, data: bytes, start: int) -> None:
        raise OSError(errno.ENOSPC, os.strerror(errno.ENOSPC))

    monkeypatch.setattr(TemporaryFileUploadHandler, "receive_data_chunk", refuse)
    client = Client(raise_request_exception=False)
    client.force_login(researcher)
    file = BytesIO(b"x" * 3_000_000)  # more than is kept in memory
    file.name = "large.jpg"
    reply = client.post(reverse("project-images", args=[project.slug]), {"files": [file]})
    assert reply.status_code == 507
    assert "The server’s disk is full" in reply.content.decode()


def test_full_disk_of_the_database_shows_a_page(client: Client, monkeypatch: pytest.MonkeyPatch) -> None:
    def full(*args: Any, **more: Any) -> None:
        raise OperationalError("database or disk is full")

    monkeypatch.setattr(views, "researcher_projects", full)
    client.force_login(User.objects.create_user("ann"))
    reply = client.get("/")
    assert reply.status_code == 507
    assert "The server’s disk is full" in reply.content.decode()


def test_database_outage_shows_a_page(client: Client, monkeypatch: pytest.MonkeyPatch) -> None:
    def away(*args: Any, **more: Any) -> None:
        raise OperationalError("database is locked")

    monkeypatch.setattr(views, "researcher_projects", away)
    client.force_login(User.objects.create_user("ann"))
    reply = client.get("/")
    assert (reply.status_code, reply["Retry-After"]) == (503, "10")
    assert "The server is busy" in reply.content.decode()


def test_post_after_session_end_returns_to_its_page(client: Client, project: Project) -> None:
    page = reverse("project-images", args=[project.slug])
    address = reverse("member-add", args=[project.slug])
    reply = client.post(address, {"username": "x"}, HTTP_REFERER=f"http://testserver{page}?page=2")
    assert reply.status_code == 302
    assert reply.url == f"/sign-in/?next={page}%3Fpage%3D2"  # type: ignore[attr-defined]
    for foreign_referrer in ("https://evil.example/x", "", "http://testserver"):
        reply = client.post(address, HTTP_REFERER=foreign_referrer)
        assert reply.url == "/sign-in/?next=/"  # type: ignore[attr-defined]
    assert client.get(page).url == f"/sign-in/?next={page}"  # type: ignore[attr-defined]
