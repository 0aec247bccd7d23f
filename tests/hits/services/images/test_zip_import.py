"""Import of a zip of photos: checks, import one by one, stop and resume, bad zips."""

import io
import stat
import struct
import zipfile
from collections.abc import Callable
from pathlib import Path
from typing import Any

import pytest
from django.conf import settings
from django.contrib.auth.models import User
from django.core.files.uploadedfile import SimpleUploadedFile
from django.test import Client
from django.urls import reverse

from hits.domain.files import zip_entries
from hits.domain.states import JobState
from hits.models import Image, Job, Project
from hits.services import uploads
from hits.services.errors import BadFile
from hits.services.images import zip_files
from hits.services.jobs import jobs
from tests.support.full_disk import full_disk
from tests.support.pictures import picture

pytestmark = pytest.mark.django_db
Send = Callable[..., Any]


def zipped(files: dict[str, bytes], **more: Any) -> bytes:
    buffer = io.BytesIO()
    with zipfile.ZipFile(buffer, "w", **more) as archive:
        for name, data in files.items():
            archive.writestr(name, data)
    return buffer.getvalue()


def photos(count: int) -> dict[str, bytes]:
    return {f"photos/{number}.png": picture(seed=number) for number in range(count)}


@pytest.fixture(autouse=True)
def folder(tmp_path: Path, settings: Any) -> Path:
    settings.VAR_DIR = tmp_path / "var"
    return tmp_path / "var" / "uploads"


@pytest.fixture
def send(client: Client, researcher: User, project: Project) -> Send:
    client.force_login(researcher)

    def post(data: bytes, **fields: str) -> Any:
        file = SimpleUploadedFile("shoot.zip", data)
        address = reverse("images-zip", args=[project.slug])
        return client.post(address, {"zip": file} | fields, headers={"accept": "application/json"})

    return post


def test_zip_is_imported_with_its_manifest_and_the_broken_photo_is_named(send: Send, folder: Path) -> None:
    files = photos(4) | {
        "photos/broken.jpg": b"no picture",
        "photos/list.csv": b"file,credit,split\n1.png,Ann Own,val\ngone.png,X,\n",
        "__MACOSX/photos/._1.png": b"a resource fork",
    }
    reply = send(zipped(files), credit="The whole group", licence="CC BY 2.0")
    assert reply.status_code == 200, reply.content
    assert reply.json()["address"] == reverse("job-detail", args=[reply.json()["job"]])
    assert len(list(folder.iterdir())) == 1
    job = jobs.run_in_process(job=Job.objects.get(pk=reply.json()["job"]))
    assert job.state == JobState.DONE, job.error
    assert {key: job.result[key] for key in ("new", "known", "refused")} == {
        "new": 4,
        "known": 0,
        "refused": 1,
    }
    assert job.result["problems"] == [
        "photos/list.csv: names photos/gone.png, which the zip does not have",
        "photos/broken.jpg: is not a readable image; export it again as JPEG or PNG",
    ]
    descriptions = {image.name: (image.credit, image.licence, image.split) for image in Image.objects.all()}
    assert descriptions["1.png"] == ("Ann Own", "CC BY 2.0", "val")
    assert descriptions["2.png"] == ("The whole group", "CC BY 2.0", "")
    assert list(folder.iterdir()) == []

    again = jobs.run_in_process(job=Job.objects.get(pk=send(zipped(files)).json()["job"]))
    assert (again.result["new"], again.result["known"]) == (0, 4)


def _escaping(name: str) -> bytes:
    return zipped(photos(1) | {name: picture()})


def _link() -> bytes:
    buffer = io.BytesIO(zipped(photos(1)))
    with zipfile.ZipFile(buffer, "a") as archive:
        entry = zipfile.ZipInfo("photos/link.png")
        entry.external_attr = (stat.S_IFLNK | 0o777) << 16
        archive.writestr(entry, "/etc/passwd")
    return buffer.getvalue()


def _encrypted() -> bytes:
    data = bytearray(zipped({"a.png": picture()}))
    at = data.rfind(b"PK\x01\x02")
    flags = struct.unpack_from("<H", data, at + 8)[0]
    struct.pack_into("<H", data, at + 8, flags | 1)
    return bytes(data)


def _many(count: int) -> bytes:
    """Return a zip whose list names one file over and over."""
    data = zipped({"a.png": b""})
    first, end = data.find(b"PK\x01\x02"), data.rfind(b"PK\x05\x06")
    listed = data[first:end] * count
    tail = bytearray(data[end:])
    struct.pack_into("<2HL", tail, 8, min(count, 0xFFFF), min(count, 0xFFFF), len(listed))
    return data[:first] + listed + bytes(tail)


def _long_directory() -> bytes:
    """Return a zip whose directory claims four gigabytes of names."""
    data = bytearray(zipped(photos(1)))
    struct.pack_into("<L", data, data.rfind(b"PK\x05\x06") + 12, 0xFFFF_FFF0)
    return bytes(data)


def _large(data: bytes, *, count: int = 1, directory_bytes: int | None = None) -> bytes:
    """Return a zip with the end that zips beyond 4 GB have; a reader believes it alone."""
    at = data.rfind(b"PK\x05\x06")
    first, size = data.find(b"PK\x01\x02"), at - data.find(b"PK\x01\x02")
    stated_bytes = size if directory_bytes is None else directory_bytes
    end = struct.pack("<4sQ2H2L4Q", b"PK\x06\x06", 44, 45, 45, 0, 0, count, count, stated_bytes, first)
    return data[:at] + end + struct.pack("<4sLQL", b"PK\x06\x07", 0, at, 1) + data[at:]


@pytest.mark.parametrize(
    ("data", "why"),
    [
        (b"no zip at all", "is not a complete zip"),
        (zipped(photos(3))[:-200], "is not a complete zip"),
        (zipped({}), "has no photos"),
        (zipped({"notes.txt": b"hello"}), "has no photos"),
        (_escaping("../outside.png"), "points outside the zip"),
        (_escaping("/etc/outside.png"), "points outside the zip"),
        (_escaping("photos\\..\\..\\outside.png"), "points outside the zip"),
        (_escaping("C:outside.png"), "points outside the zip"),
        (_link(), "photos/link.png is a link"),
        (_encrypted(), "a.png is encrypted"),
        (_long_directory(), "has more than 20,000 files"),
        (_large(zipped(photos(1)), directory_bytes=2**33), "has more than 20,000 files"),
        (_large(zipped(photos(1)), count=2**33), "has more than 20,000 files"),
        (zipped({"ab.png": picture()}).replace(b"ab.png", b"\0a.png"), "has a file without a name"),
        (zipped({".": picture()}), "has a file without a name"),
        (zipped(photos(1), compression=zipfile.ZIP_LZMA), "an unsupported compression"),
        (zipped(photos(1) | {"a.csv": b"file", "b.csv": b"file"}), "has 2 CSV files (a.csv and b.csv)"),
    ],
)
def test_a_bad_zip_is_refused_whole_and_nothing_is_kept(
    send: Send, folder: Path, data: bytes, why: str
) -> None:
    reply = send(data)
    assert reply.status_code == 422
    assert reply.json()["error"].startswith("shoot.zip: ")
    assert why in reply.json()["error"]
    assert list(folder.iterdir()) == []
    assert not Image.objects.exists()
    assert not Job.objects.exists()


def test_zip64_is_imported(send: Send) -> None:
    data = _large(zipped({"a.png": picture()}))
    assert len(zipfile.ZipFile(io.BytesIO(data)).namelist()) == 1
    job = jobs.run_in_process(job=Job.objects.get(pk=send(data).json()["job"]))
    assert job.result["new"] == 1, job.error


def test_a_hundred_thousand_entries_are_refused_before_they_are_listed(
    send: Send, monkeypatch: pytest.MonkeyPatch
) -> None:
    def listed(*args: object, **kwargs: object) -> None:
        raise AssertionError("the list was read")

    data = _many(100_000)
    monkeypatch.setattr(zip_files.zipfile, "ZipFile", listed)
    assert "has more than 20,000 files; split it" in send(data).json()["error"]
    assert zipfile.is_zipfile(io.BytesIO(data))


def test_entry_that_unpacks_too_large_is_skipped_and_the_rest_is_imported(send: Send, settings: Any) -> None:
    settings.MAX_IMAGE_BYTES = 100_000
    bomb = zipped({"bomb.png": bytes(50_000_000), "fine.png": picture()}, compression=zipfile.ZIP_DEFLATED)
    assert len(bomb) < 100_000
    job = jobs.run_in_process(job=Job.objects.get(pk=send(bomb).json()["job"]))
    assert (job.result["new"], job.result["refused"]) == (1, 1)
    assert job.result["problems"][0].startswith("bomb.png: is too large")


def test_zip_that_claims_more_than_a_disk_is_refused(send: Send, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(zip_entries, "MAX_UNPACKED_BYTES", 1_000_000)
    data = zipped({"a.png": bytes(2_000_000)}, compression=zipfile.ZIP_DEFLATED)
    assert "unpacks to more than" in send(data).json()["error"]


def test_manifest_that_names_a_photo_twice_imports_nothing(send: Send, folder: Path) -> None:
    data = zipped(photos(2) | {"photos/list.csv": b"file,credit\n1.png,Ann\n1.png,Ben\n"})
    job = jobs.run_in_process(job=Job.objects.get(pk=send(data).json()["job"]))
    assert job.state == JobState.FAILED
    assert "row 3, column file: 1.png is named in row 2 already; keep one" in job.error
    assert not Image.objects.exists()
    assert list(folder.iterdir()) == []


def test_cancelled_import_keeps_stored_photos_and_resumes(send: Send, folder: Path) -> None:
    job = Job.objects.get(pk=send(zipped(photos(5))).json()["job"])

    def listen(followed: Job, line: str) -> None:
        if followed.done == 2 and not line:
            Job.objects.filter(pk=followed.pk).update(cancel_requested=True)

    job = jobs.run_in_process(job=job, listener=listen)
    assert (job.state, Image.objects.count()) == (JobState.CANCELLED, 3)
    assert len(list(folder.iterdir())) == 1
    job = jobs.run_in_process(job=jobs.resume_job(job=job, queue=False))
    assert (job.state, job.result["new"], job.result["known"]) == (JobState.DONE, 5, 0)
    assert list(folder.iterdir()) == []


def test_full_disk_leaves_no_part_of_the_zip(
    send: Send, folder: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    data = zipped(photos(3))
    with full_disk(monkeypatch):
        reply = send(data)
    assert reply.status_code == 507
    assert "the disk is full; free disk space" in reply.json()["error"]
    assert list(folder.iterdir()) == []
    assert not Job.objects.exists()


def test_import_stops_when_the_disk_fills_and_resumes_with_space(
    send: Send, folder: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    job = Job.objects.get(pk=send(zipped(photos(3))).json()["job"])
    with full_disk(monkeypatch):
        job = jobs.run_in_process(job=job)
    assert job.state == JobState.FAILED
    assert "the disk is full" in job.error
    job = jobs.run_in_process(job=jobs.resume_job(job=job, queue=False))
    assert (job.state, job.result["new"]) == (JobState.DONE, 3)


def test_zip_that_nobody_resumed_is_removed_after_a_week(
    send: Send, folder: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    send(zipped(photos(1)))
    monkeypatch.setattr(uploads, "RETENTION_SECONDS", -1)
    send(zipped(photos(1)))
    assert len(list(folder.iterdir())) == 1
    job = jobs.run_in_process(job=Job.objects.order_by("pk")[0])
    assert "its copy on the server was deleted; upload it again" in job.error


def test_zip_of_an_outsider_is_refused(client: Client, outsider: User, project: Project) -> None:
    address = reverse("images-zip", args=[project.slug])
    assert client.post(address).status_code == 302
    client.force_login(outsider)
    assert client.post(address).status_code == 404


def test_entry_with_a_false_size_is_read_up_to_the_photo_limit(tmp_path: Path) -> None:
    path = tmp_path / "a.zip"
    path.write_bytes(zipped({"a.png": bytes(10_000)}, compression=zipfile.ZIP_DEFLATED))
    with zipfile.ZipFile(path) as archive, pytest.raises(BadFile, match=r"a\.png: is too large"):
        zip_files.read_entry(archive, archive.infolist()[0], 1000)


def test_photos_page_names_the_upload_limit(client: Client, researcher: User, project: Project) -> None:
    client.force_login(researcher)
    page = client.get(reverse("project-images", args=[project.slug])).content.decode()
    assert "up to 2 GB" in page
    assert settings.MAX_IMAGE_BYTES == 40 * 1024**2
