"""Photos that come in from the page, one request each, with a manifest beside them."""

import io
from collections.abc import Callable
from typing import Any

import pytest
from django.contrib.auth.models import User
from django.core.files.uploadedfile import SimpleUploadedFile
from django.test import Client
from django.urls import reverse

from hits.models import Image, Project
from hits.services.errors import BadFile
from hits.services.images import import_image
from hits.services.images.manifests import import_image_files, read_manifest
from tests.support.pictures import picture

pytestmark = pytest.mark.django_db


@pytest.fixture
def add(client: Client, researcher: User, project: Project) -> Callable[..., Any]:
    client.force_login(researcher)

    def send(name: str, data: bytes, **fields: str) -> Any:
        file = SimpleUploadedFile(name, data)
        return client.post(reverse("image-add", args=[project.slug]), {"file": file} | fields)

    return send


@pytest.fixture
def check(client: Client, researcher: User, project: Project) -> Callable[[str], Any]:
    client.force_login(researcher)

    def send(text: str) -> Any:
        file = SimpleUploadedFile("manifest.csv", text.encode())
        return client.post(reverse("images-manifest", args=[project.slug]), {"manifest": file})

    return send


def test_photo_is_added_with_description_and_recognised_again(add: Any) -> None:
    description = {
        "credit": "Ann",
        "licence": "CC BY 2.0",
        "alt": "A chair",
        "split": "val",
        "url": "https://x.example/1",
    }
    first = add("chair.png", picture(), **description)
    assert (first.status_code, first.json()["new"]) == (201, True)
    image = Image.objects.get(pk=first.json()["image"])
    assert (image.credit, image.licence, image.alt, image.split, image.source_url) == tuple(
        description.values()
    )
    again = add("other name.png", picture(), credit="Somebody else")
    assert (again.status_code, again.json()) == (200, {"image": image.pk, "new": False})
    image.refresh_from_db()
    assert image.credit == "Ann"


@pytest.mark.parametrize(
    ("name", "data", "fields", "why"),
    [
        ("broken.jpg", picture(image_format="JPEG")[:200], {}, "broken.jpg: is not a readable image"),
        ("a.gif", b"GIF89a", {}, "a.gif: is not a readable image"),
        ("a.png", picture(), {"split": "holdout"}, "a.png, column split: 'holdout' is unknown"),
        ("a.png", picture(), {"width": "7", "height": "7"}, "the manifest has 7 × 7"),
        ("a.png", picture(), {"url": "ftp://x"}, "a.png, column url"),
    ],
)
def test_unusable_photo_is_refused_by_name(
    add: Any, name: str, data: bytes, fields: dict[str, str], why: str
) -> None:
    reply = add(name, data, **fields)
    assert reply.status_code == 422
    assert why in reply.json()["error"]
    assert not Image.objects.exists()


def test_full_disk_is_reported_as_such(add: Any, monkeypatch: pytest.MonkeyPatch) -> None:
    def full(*args: Any) -> str:
        raise OSError(28, "No space left on device")

    monkeypatch.setattr(import_image, "save_if_changed", full)
    reply = add("a.png", picture())
    assert reply.status_code == 507
    assert "the disk is full; free disk space" in reply.json()["error"]
    assert not Image.objects.exists()


def test_outsider_cannot_add_photos(client: Client, project: Project) -> None:
    client.force_login(User.objects.create_user("outsider"))
    for name in ("image-add", "images-manifest"):
        assert client.post(reverse(name, args=[project.slug])).status_code == 404


def test_manifest_is_returned_by_file_name(check: Any) -> None:
    reply = check("file,credit,split\na.jpg,Ann,train\nsub/b.jpg,,\n")
    assert reply.json() == {"rows": {"a.jpg": {"credit": "Ann", "split": "train"}, "sub/b.jpg": {}}}


@pytest.mark.parametrize(
    ("text", "why"),
    [
        ("file,credit\na.jpg,x\na.jpg,y\n", "row 3, column file: a.jpg is named in row 2 already"),
        ("name,credit\na.jpg,x\n", "has no column “file”"),
        ("file,colour\na.jpg,x\n", "unknown column 'colour'"),
        ("file,split\na.jpg,holdout\n", "row 2, column split: 'holdout' is unknown"),
        ("file,credit\na.jpg\n", "row 2 has 1 values, the header has 2"),
        ("file\n\xff\xfe", ""),
    ],
)
def test_invalid_manifest_names_row_and_column(check: Any, text: str, why: str) -> None:
    reply = check(text)
    if why:
        assert reply.status_code == 422
        assert reply.json()["error"].startswith("manifest.csv: ")
        assert why in reply.json()["error"]
    else:
        assert reply.status_code in {200, 422}


def test_reading_a_manifest_refuses_other_text_than_utf_8() -> None:
    with pytest.raises(BadFile, match="is not UTF-8 text"):
        list(read_manifest("m.csv", io.BytesIO(b"file\n\xff\xfe.jpg\n")))


def test_import_of_unsupported_file_names_its_suffix(project: Project, tmp_path: Any) -> None:
    corpus = tmp_path / "corpus.json"
    corpus.write_text("[]")
    with pytest.raises(
        BadFile, match=r"is a \.json; use a folder, .*CSV manifest in the folder of its photos"
    ):
        import_image_files(project=project, path=corpus)


def test_form_keeps_credit_and_licence_after_a_bad_file(
    client: Client, researcher: User, project: Project
) -> None:
    client.force_login(researcher)
    data = {"files": SimpleUploadedFile("a.jpg", b"x"), "credit": "Ann & Bob", "licence": "CC0"}
    reply = client.post(reverse("project-images", args=[project.slug]), data)
    assert reply.status_code == 400
    text = reply.content.decode()
    assert 'value="Ann &amp; Bob"' in text
    assert 'value="CC0"' in text
