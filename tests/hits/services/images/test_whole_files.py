"""Photo files are complete or absent after kills, on full disks and after outside damage."""

import errno
import hashlib
import io
import json
import os
import signal
import subprocess
from collections.abc import Callable, Iterator
from pathlib import Path
from typing import Any

import pytest
from django.conf import settings as django_settings
from django.core.management import call_command
from django.core.management.base import CommandError
from PIL import Image as Pillow

from hits.domain.files import atomic_files
from hits.models import Image, Project
from hits.services.errors import BadFile, StorageFull
from hits.services.images.import_image import import_image
from hits.services.images.media_check import LEFTOVER_AGE_SECONDS, Fault, find_faulty_files
from tests.support.pictures import picture

pytestmark = pytest.mark.django_db
ROUNDS = [2, pytest.param(20, marks=pytest.mark.nightly)]


def path_of(image: Image) -> Path:
    return Path(django_settings.MEDIA_ROOT) / str(image.file)


def is_whole(image: Image) -> bool:
    data = path_of(image).read_bytes()
    Pillow.open(io.BytesIO(data)).load()
    return len(data) == image.bytes and hashlib.sha256(data).hexdigest() == image.sha256


def photo(project: Project, seed: int, *, width: int = 400) -> tuple[Image, bool]:
    return import_image(project=project, name=f"{seed}.png", data=picture(width, 300, seed=seed))


@pytest.fixture
def media(settings: Any, tmp_path: Path) -> Path:
    settings.MEDIA_ROOT = tmp_path / "media"
    settings.MEDIA_ROOT.mkdir()
    return settings.MEDIA_ROOT


@pytest.fixture
def small_disk(settings: Any, tmp_path: Path) -> Iterator[Path]:
    """A disk of a megabyte for the media folder."""
    folder = tmp_path / "small"
    folder.mkdir()
    mount = ["mount", "-t", "tmpfs", "-o", "size=1m", "tmpfs", str(folder)]
    if os.geteuid() != 0 or subprocess.run(mount, capture_output=True, check=False).returncode:
        pytest.skip("no small disk can be mounted here: THE FULL DISK IS NOT TRIED")
    settings.MEDIA_ROOT = folder
    yield folder
    subprocess.run(["umount", str(folder)], check=True)


@pytest.mark.parametrize("spoil", ["cut off", "other bytes", "empty"])
def test_import_checks_the_content_of_an_existing_file(media: Path, project: Project, spoil: str) -> None:
    image, _ = photo(project, 1)
    path, data = path_of(image), path_of(image).read_bytes()
    Image.objects.all().delete()
    path.write_bytes(
        {"cut off": data[: len(data) // 2], "other bytes": b"x" * len(data), "empty": b""}[spoil]
    )
    again, created = photo(project, 1)
    assert created
    assert is_whole(again)
    assert again.file.name == image.file.name


def test_import_of_a_known_photo_restores_its_missing_file(media: Path, project: Project) -> None:
    image, _ = photo(project, 1)
    path_of(image).unlink()
    assert photo(project, 1) == (image, False)
    assert is_whole(image)


def test_import_of_a_known_photo_leaves_a_whole_file_alone(media: Path, project: Project) -> None:
    image, _ = photo(project, 1)
    before = path_of(image).stat()
    photo(project, 1)
    assert path_of(image).stat().st_ino == before.st_ino


def test_restoring_refuses_a_file_that_gives_other_bytes(media: Path, project: Project) -> None:
    image, _ = photo(project, 1)
    Image.objects.update(sha256="0" * 64)
    path_of(image).write_bytes(b"spoiled")
    with pytest.raises(BadFile, match="restore the stored file from a backup"):
        photo(project, 1)


def test_atomic_file_flushes_bytes_then_name(
    media: Path, project: Project, monkeypatch: pytest.MonkeyPatch
) -> None:
    events: list[str] = []
    real_sync, real_replace = os.fsync, Path.replace

    def fsync(handle: int) -> None:
        events.append("folder" if Path(f"/proc/self/fd/{handle}").is_dir() else "bytes")
        real_sync(handle)

    def replace(self: Path, target: Path) -> Path:
        events.append("name")
        return real_replace(self, target)

    monkeypatch.setattr(atomic_files.os, "fsync", fsync)
    monkeypatch.setattr(Path, "replace", replace)
    photo(project, 1)
    assert events == ["bytes", "name", "folder"]


def killed_at(block: int, write: Callable[[], object], monkeypatch: pytest.MonkeyPatch) -> None:
    """Run ``write`` in a child that is killed when it writes its block number ``block`` of 64 KiB."""
    child = os.fork()
    if child:
        _, status = os.waitpid(child, 0)
        assert os.WIFSIGNALED(status), "the child was to die while it wrote"
        return
    from django.core.files.base import ContentFile

    def chunks(self: ContentFile, chunk_size: int | None = None) -> Iterator[bytes]:
        data = self.read()
        for at in range(0, len(data), 1 << 16):
            if at >> 16 == block:
                os.kill(os.getpid(), signal.SIGKILL)
            yield data[at : at + (1 << 16)]

    monkeypatch.setattr(ContentFile, "chunks", chunks)
    write()
    os._exit(0)


@pytest.mark.parametrize("rounds", ROUNDS)
def test_killed_photo_import_leaves_no_trusted_file(
    media: Path, project: Project, monkeypatch: pytest.MonkeyPatch, rounds: int
) -> None:
    from hits.storage import save_if_changed

    for seed in range(rounds):
        image, _ = photo(project, seed, width=600)
        path, data = path_of(image), path_of(image).read_bytes()
        Image.objects.all().delete()
        path.unlink()
        storage, name = image.file.storage, str(image.file)
        killed_at(seed % (len(data) >> 16), lambda: save_if_changed(storage, name, data), monkeypatch)
        assert not path.exists()
        again, created = photo(project, seed, width=600)
        assert created
        assert is_whole(again)
    assert [str(left) for left in media.rglob("*.partial")] != [], "a kill leaves what nobody reads"


@pytest.mark.parametrize("rounds", ROUNDS)
def test_photo_import_onto_a_full_disk_leaves_no_file(
    small_disk: Path, project: Project, rounds: int
) -> None:
    for seed in range(rounds):
        filler = small_disk / "filler"
        filler.write_bytes(b"\0" * (600_000 + 10_000 * seed))
        with pytest.raises(
            StorageFull, match=rf"{seed}\.png: was not stored: the disk is full; free disk space"
        ):
            photo(project, seed, width=500)
        assert not Image.objects.filter(name=f"{seed}.png").exists()
        assert [path for path in small_disk.rglob("*") if path.is_file()] == [filler]
        filler.unlink()
        image, created = photo(project, seed, width=500)
        assert created
        assert is_whole(image)
        path_of(image).unlink()


def test_full_disk_is_distinguished_from_an_unwritable_folder() -> None:
    assert "the disk is full" in str(
        StorageFull.from_os_error(OSError(errno.ENOSPC, "No space left"), "a: not kept")
    )
    assert "Read-only file system; fix the folder" in str(
        StorageFull.from_os_error(OSError(errno.EROFS, "Read-only file system"), "a: not kept")
    )


def check(*flags: str) -> tuple[dict[str, Any], int]:
    out, status = io.StringIO(), 0
    try:
        call_command("check_media", "--json", *flags, stdout=out)
    except CommandError as error:
        status = error.returncode
    return json.loads(out.getvalue()), status


def test_check_media_names_missing_truncated_and_changed_files(media: Path, project: Project) -> None:
    images = [photo(project, seed)[0] for seed in range(4)]
    assert check()[1] == 0
    missing, cut, changed, _ = images
    path_of(missing).unlink()
    path_of(cut).write_bytes(path_of(cut).read_bytes()[:-1])
    path_of(changed).write_bytes(b"y" * changed.bytes)
    found, status = check()
    assert status == 1
    assert {(row["file"], row["fault"]) for row in found["faulty"]} == {
        (missing.file.name, "missing"),
        (cut.file.name, "wrong size"),
        (changed.file.name, "wrong bytes"),
    }
    assert {row["owner"] for row in found["faulty"]} == {f"{project.slug}: {n}.png" for n in range(3)}


def test_check_media_repairs_photos_from_their_originals_and_removes_left_overs(
    media: Path, project: Project, tmp_path: Path
) -> None:
    images = [photo(project, seed)[0] for seed in range(3)]
    path_of(images[0]).unlink()
    path_of(images[1]).write_bytes(b"spoiled")
    path_of(images[2]).unlink()
    old, young = (path_of(images[0]).parent / f".{name}.partial" for name in ("old", "young"))
    old.write_bytes(b"half")
    young.write_bytes(b"half")
    past = old.stat().st_mtime - LEFTOVER_AGE_SECONDS - 1
    os.utime(old, (past, past))
    originals = tmp_path / "originals"
    (originals / "deep").mkdir(parents=True)
    for seed in (0, 1):
        (originals / "deep" / f"renamed-{seed}.png").write_bytes(picture(400, 300, seed=seed))
    found, status = check("--repair", "--originals", str(originals))
    assert status == 1, "one photo has no original"
    assert [row["file"] for row in found["faulty"]] == [images[2].file.name]
    assert len(found["restored"]) == 2
    assert is_whole(images[0])
    assert is_whole(images[1])
    assert (old.exists(), young.exists()) == (False, True)


def test_check_media_reads_files_of_other_apps(media: Path, project: Project) -> None:
    from curation.models import FeatureSet

    folder = media / "features" / "made"
    folder.mkdir(parents=True)
    (folder / "items.jsonl").write_text("{}\n")
    items = hashlib.sha256(b"{}\n").hexdigest()
    manifest = json.dumps({"shards": [], "items": {"file": "items.jsonl", "sha256": items}})
    (folder / "manifest.json").write_text(manifest)
    FeatureSet.objects.create(
        project=project,
        subject="images",
        encoder="tiny",
        revision="1",
        path="features/made",
        sha256=hashlib.sha256(manifest.encode()).hexdigest(),
        items_sha256=items,
        is_complete=True,
        count=1,
        dim=1,
    )
    assert list(find_faulty_files()) == []
    (folder / "items.jsonl").write_text("{")
    (found,) = find_faulty_files()
    assert (found.file.kind, found.fault) == ("vectors", Fault.WRONG_BYTES)


def test_check_media_refuses_originals_without_repair(media: Path, tmp_path: Path) -> None:
    with pytest.raises(CommandError) as error:
        call_command("check_media", "--originals", str(tmp_path))
    assert error.value.returncode == 2
