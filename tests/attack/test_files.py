"""Hostile files: malformed metadata, manifests that leave their folder, half-written secrets."""

import io
import os
import struct
from pathlib import Path

import pytest
from django.core.management import call_command
from django.core.management.base import CommandError
from PIL import Image as Pillow

from annotation_site import env
from hits.models import Image, Project
from hits.services.errors import BadFile
from hits.services.images.import_image import import_image, reencode_image
from hits.services.images.manifests import import_image_files
from tests.support.pictures import picture


def _exif(*entries: tuple[int, int, int, bytes]) -> bytes:
    """Return an EXIF block of entries (tag, type, count, four bytes of value)."""
    body = b"".join(struct.pack("<HHI", tag, kind, count) + value for tag, kind, count, value in entries)
    return b"Exif\0\0II*\0\x08\0\0\0" + struct.pack("<H", len(entries)) + body + b"\0\0\0\0"


@pytest.mark.parametrize("image_format", ["JPEG", "PNG"])
@pytest.mark.parametrize(
    "entry",
    [
        (0x0100, 2, 4, b"abc\0"),  # a width that is a text
        (0x011A, 2, 4, b"abc\0"),  # a resolution that is a text
        (0x829A, 2, 4, b"abc\0"),
        (0x8769, 2, 4, b"abc\0"),  # a sub-directory that is a text
    ],
)
def test_image_with_malformed_metadata_is_still_read(image_format: str, entry: tuple) -> None:
    turned = (0x0112, 3, 1, struct.pack("<HH", 6, 0))
    data = picture(40, 30, image_format=image_format, exif=_exif(entry, turned))
    decoded = reencode_image("x.jpg" if image_format == "JPEG" else "x.png", data)
    assert (decoded.width, decoded.height) == (30, 40)
    assert "exif" not in Pillow.open(io.BytesIO(decoded.data)).info


@pytest.mark.parametrize("turn", range(1, 9))
def test_every_exif_orientation_matches_pillow(turn: int) -> None:
    from PIL import ImageOps

    data = picture(40, 30, exif=_exif((0x0112, 3, 1, struct.pack("<HH", turn, 0))))
    expected = ImageOps.exif_transpose(Pillow.open(io.BytesIO(data)))
    decoded = Pillow.open(io.BytesIO(reencode_image("x.png", data).data))
    assert decoded.tobytes() == expected.tobytes()


@pytest.mark.parametrize(
    ("text", "why"),
    [
        ("file\na\0.png\n", "row 2, column file: contains a NUL character"),
        ("file,credit\na.png,x\0y\n", "row 2, column credit: contains a NUL character"),
        ("file,width,height\na.png," + "9" * 5000 + ",48\n", "row 2, column width: 9+… is too large"),
        ("file,entity_count\na.png," + "9" * 30 + "\n", "row 2, column entity_count"),
        ("file,file\na.png,b.png\n", "column 'file' twice"),
        ("file,url\na.png,javascript:alert(1)\n", "row 2, column url"),
        (f"file,url\na.png,https://{'x' * 600}\n", "row 2, column url"),
        ("file\npipe.png\n", "row 2: pipe.png is not a file"),
        ("file\nlink.png\n", "row 2, column file: leaves the manifest's folder"),
        ("file\n" + "n" * 5000 + ".png\n", "row 2"),
    ],
)
@pytest.mark.django_db
def test_manifest_path_outside_folder_names_row(
    project: Project, tmp_path: Path, text: str, why: str
) -> None:
    folder = tmp_path / "in"
    folder.mkdir()
    (folder / "a.png").write_bytes(picture())
    (tmp_path / "outside.png").write_bytes(picture(seed=2))
    (folder / "link.png").symlink_to(tmp_path / "outside.png")
    os.mkfifo(folder / "pipe.png")
    (folder / "m.csv").write_text(text, encoding="utf-8")
    with pytest.raises(BadFile, match=why):
        import_image_files(project=project, path=folder / "m.csv")
    assert not Image.objects.exists()


@pytest.mark.parametrize("limit", ["0", "-3"])
@pytest.mark.django_db
def test_limit_below_one_is_refused(project: Project, tmp_path: Path, limit: str) -> None:
    import_image(project=project, name="a.png", data=picture())
    commands = [
        ("launch_batch", "sherlock_observation", "--reward-cents", "5"),
        ("import_images", str(tmp_path)),
    ]
    for name, *rest in commands:
        with pytest.raises(CommandError, match="--limit") as refused:
            call_command(name, *rest, "--project", project.slug, "--limit", limit)
        assert refused.value.returncode == 2


@pytest.mark.django_db
def test_funds_above_column_limit_are_refused() -> None:
    with pytest.raises(CommandError, match="Funds") as refused:
        call_command("create_requester", "lab", "--funds-cents", "9" * 20)
    assert refused.value.returncode == 2


def test_empty_secret_file_is_not_used(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.delenv("X_SECRET", raising=False)
    path = tmp_path / "secrets" / "x"
    path.parent.mkdir()
    path.touch()
    with pytest.raises(env.EnvError, match="is empty"):
        env.env_secret("X_SECRET", fallback_file=path)
    path.unlink()
    first = env.env_secret("X_SECRET", fallback_file=path)
    assert first == env.env_secret("X_SECRET", fallback_file=path)
    assert path.stat().st_mode & 0o777 == 0o600
    assert [file.name for file in path.parent.iterdir()] == ["x"]
