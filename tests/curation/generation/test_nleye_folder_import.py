"""Images from a folder or a zip with a manifest."""

import io
import os
import zipfile
from collections.abc import Callable
from pathlib import Path

import pytest
from PIL import Image as Pillow

from curation.generation.folder_import import ImportedFolder, Origin, read_folder
from curation.records import InvalidInput
from tests.support.generation import picture_file, pixels

Files = dict[str, bytes | str]
Place = Callable[[Files], Path]
HEADER = "scene_id,image,model,prompt,seed,licence\n"
GOOD: Files = {
    "manifest.csv": HEADER
    + '7,,Midjourney 6,"A man, running",12,owner\n'
    + "x-1,premise,unknown,,unknown,unknown\n"
    + "x-1,,flux,a cat,,Apache-2.0\n",
    "7/premise.png": picture_file(),
    "7/hypothesis1.jpg": picture_file("JPEG", seed=1),
    "7/hypothesis2.webp": picture_file("WEBP", seed=2),
    "x-1/premise.png": picture_file(seed=3),
    "x-1/hypothesis2.jpeg": picture_file("JPEG", seed=4),
    ".DS_Store": b"x",
    "7/Thumbs.db": b"x",
}


@pytest.fixture(params=["folder", "zip", "zip of a folder"])
def place(request: pytest.FixtureRequest, tmp_path: Path) -> Place:
    """Return a function that writes files as a folder or a zip."""

    def write(files: Files) -> Path:
        data = {name: text if isinstance(text, bytes) else text.encode() for name, text in files.items()}
        if request.param == "folder":
            for name, content in data.items():
                path = tmp_path / "pictures" / name
                path.parent.mkdir(parents=True, exist_ok=True)
                path.write_bytes(content)
            return tmp_path / "pictures"
        prefix = "my pictures/" if request.param == "zip of a folder" else ""
        with zipfile.ZipFile(tmp_path / "pictures.zip", "w") as archive:
            archive.writestr("__MACOSX/._a", b"x")
            for name, content in data.items():
                archive.writestr(prefix + name, content)
        return tmp_path / "pictures.zip"

    return write


def refuse(path: Path) -> str:
    with pytest.raises(InvalidInput) as caught:
        read_folder(path)
    assert "\n" not in str(caught.value)
    return str(caught.value)


def test_images_come_with_their_origins(place: Place) -> None:
    found = read_folder(place(GOOD))
    assert [(image.scene_id, image.role) for image in found.images] == [
        ("7", "premise"),
        ("7", "hypothesis1"),
        ("7", "hypothesis2"),
        ("x-1", "premise"),
        ("x-1", "hypothesis2"),
    ]
    assert found.missing == ("x-1/hypothesis1",)
    seven = Origin("Midjourney 6", "owner", "A man, running", 12, 2)
    assert [image.origin for image in found.images[:3]] == [seven] * 3
    assert found.images[3].origin == Origin("unknown", "unknown", "", None, 3)
    assert found.images[4].origin == Origin("flux", "Apache-2.0", "a cat", None, 4)


def test_every_image_is_read_as_png(place: Place) -> None:
    found: ImportedFolder = read_folder(place(GOOD))
    for image, name in zip(found.images, list(GOOD)[1:6], strict=True):
        png = image.to_png()
        assert Pillow.open(io.BytesIO(png.data)).format == "PNG"
        assert pixels(png.data).tobytes() == pixels(GOOD[name]).tobytes()  # type: ignore[arg-type]
        assert (png.width, png.height) == (64, 64)


def rows(*lines: str) -> Files:
    """Return a manifest with these lines alone."""
    return {"manifest.csv": HEADER + "".join(f"{line}\n" for line in lines)}


LINE = "7,,m,p,1,x"
WRONG: dict[str, tuple[Files, str]] = {
    "no manifest": ({"7/premise.png": b""}, "has no manifest.csv; add one with the columns"),
    "empty manifest": ({"manifest.csv": ""}, "manifest.csv: has no column scene_id (found: nothing)"),
    "no licence column": (
        {"manifest.csv": "scene id,model\n7,m\n"},
        "no column licence (found: scene_id, model)",
    ),
    "unknown column": (
        {"manifest.csv": "id,model,licence,size\n"},
        "column 'size' is not known; use scene_id",
    ),
    "column twice": ({"manifest.csv": "id,model,license,licence\n"}, "column 'licence' is there twice"),
    "no rows": (rows(), "manifest.csv: has no rows"),
    "empty licence": (
        rows("7,,m,p,1,"),
        "line 2, column licence: is empty; if nobody knows it, write unknown",
    ),
    "empty model": (rows("", "7,, ,p,1,x"), "line 3, column model: is empty"),
    "empty scene": (rows(",,m,p,1,x"), "line 2, column scene_id: is empty"),
    "wrong role": (rows("7,context,m,p,1,x"), "column image: 'context' is not known"),
    "wrong seed": (rows("7,,m,p,1.5,x"), "column seed: '1.5'; write a whole number"),
    "long seed": (rows(f"7,,m,p,{'9' * 5000},x"), "column seed: '999999999999999999999999999999'; write"),
    "NUL in a prompt": (
        rows("7,,m,a\0b,1,x"),
        "line 2, column prompt: contains the control character U+0000: remove it",
    ),
    "long model": (rows(f"7,,{'m' * 201},p,1,x"), "column model: is too long"),
    "scene twice": (rows(LINE, "8,,m,p,1,x", LINE), "line 4: scene 7 is in line 2 already"),
    "cells": (rows("7,m,x"), "line 2: has 3 cells, but the header has 6"),
    "not utf-8": (
        {"manifest.csv": b"scene_id,model,licence\n7,\xff,x\n"},
        "manifest.csv: is not UTF-8 (byte 25)",
    ),
    "image without row": ({**GOOD, "8/premise.png": b"x"}, "8/premise.png: has no row in manifest.csv"),
    "row without image": (
        {**GOOD, **rows(LINE, "x-1,,m,,,x", "x-1,hypothesis1,m,,,x")},
        "line 4: x-1/hypothesis1 is not there",
    ),
    "no images": (rows(LINE), "none of its scenes has an image"),
    "image twice": ({**GOOD, "7/premise.jpg": b"x"}, "7/premise.png: 7/premise.jpg is there too; keep one"),
    "odd file": ({**GOOD, "7/notes.txt": b"x"}, "7/notes.txt: is not expected"),
    "odd role": ({**GOOD, "7/context.png": b"x"}, "7/context.png: is not expected"),
    "too deep": ({**GOOD, "7/a/premise.png": b"x"}, "7/a/premise.png: is not expected"),
    "top level": ({**GOOD, "premise.png": b"x"}, "premise.png: is not expected"),
}


@pytest.mark.parametrize("name", WRONG)
def test_a_wrong_folder_is_refused_with_its_place(place: Place, name: str) -> None:
    files, message = WRONG[name]
    assert message in refuse(place(files))


def test_an_image_that_is_none_is_named(place: Place) -> None:
    path = place({**GOOD, "7/premise.png": picture_file("JPEG"), "7/hypothesis1.jpg": b"text"})
    images = read_folder(path).images
    with pytest.raises(InvalidInput, match=r"^7/premise\.png: is a JPEG file; rename it to \.jpg"):
        images[0].to_png()
    with pytest.raises(InvalidInput, match=r"^7/hypothesis1\.jpg: is not a readable image"):
        images[1].to_png()


def test_a_manifest_with_a_byte_order_mark_and_other_line_ends_is_read(place: Place) -> None:
    text = str(GOOD["manifest.csv"]).replace("\n", "\r\n")
    assert len(read_folder(place({**GOOD, "manifest.csv": b"\xef\xbb\xbf" + text.encode()})).images) == 5


def test_a_link_out_of_the_folder_is_refused(tmp_path: Path) -> None:
    outside = tmp_path / "secret.png"
    outside.write_bytes(picture_file())
    folder = tmp_path / "pictures"
    (folder / "7").mkdir(parents=True)
    (folder / "manifest.csv").write_text(HEADER + "7,,m,,,x\n")
    (folder / "7" / "premise.png").symlink_to(outside)
    assert "7/premise.png: leads out of pictures" in refuse(folder)
    (folder / "7" / "premise.png").unlink()
    os.mkfifo(folder / "7" / "premise.png")
    assert "7/premise.png: is no ordinary file" in refuse(folder)


def test_a_link_to_itself_is_refused(tmp_path: Path) -> None:
    (tmp_path / "7").symlink_to("7")
    assert refuse(tmp_path) == "7: leads nowhere; put the file itself there"


@pytest.mark.filterwarnings("ignore:Duplicate name")
def test_a_name_twice_in_a_zip_is_refused(tmp_path: Path) -> None:
    path = tmp_path / "a.zip"
    with zipfile.ZipFile(path, "w") as archive:
        archive.writestr("manifest.csv", HEADER + "7,,m,,,x\n")
        archive.writestr("7/premise.png", picture_file(seed=1))
        archive.writestr("7/premise.png", picture_file(seed=2))
    assert refuse(path) == "a.zip: 7/premise.png is in it twice; keep one of the two"


@pytest.mark.parametrize(
    "name", ["../7/premise.png", "/etc/premise.png", "7/../../premise.png", "C:/premise.png", "..\\a.png"]
)
def test_a_zip_that_leads_out_of_itself_is_refused(tmp_path: Path, name: str) -> None:
    path = tmp_path / "a.zip"
    with zipfile.ZipFile(path, "w") as archive:
        archive.writestr("manifest.csv", HEADER)
        archive.writestr(name, b"x")
    assert "points outside the zip" in refuse(path)


def test_a_zip_with_a_link_a_password_or_a_bomb_is_refused(tmp_path: Path) -> None:
    path = tmp_path / "a.zip"
    link = zipfile.ZipInfo("7/premise.png")
    link.external_attr = 0o120777 << 16
    with zipfile.ZipFile(path, "w") as archive:
        archive.writestr(link, "/etc/passwd")
    assert "is a link or a special file" in refuse(path)
    with zipfile.ZipFile(path, "w", zipfile.ZIP_DEFLATED) as archive:
        archive.writestr("manifest.csv", HEADER + "7,,m,,,x\n")
        archive.writestr("7/premise.png", bytes(41 * 1024**2))
    with pytest.raises(InvalidInput, match=r"7/premise\.png: is too large; use 40 MB or less"):
        read_folder(path).images[0].to_png()
    path.write_bytes(path.read_bytes()[:-30])
    assert "is not a complete zip" in refuse(path)


def test_files_beside_the_folder_of_a_zip_are_refused(tmp_path: Path) -> None:
    path = tmp_path / "a.zip"
    with zipfile.ZipFile(path, "w") as archive:
        archive.writestr("a/manifest.csv", HEADER + "7,,m,,,x\n")
        archive.writestr("b/7/premise.png", b"x")
    assert "b/7/premise.png is not in the folder of manifest.csv" in refuse(path)


def test_what_is_neither_folder_nor_zip_is_refused(tmp_path: Path) -> None:
    assert "is neither a folder nor a zip" in refuse(tmp_path / "none")
    assert "is neither a folder nor a zip" in refuse(tmp_path / "a\0b")
    (tmp_path / "a.txt").write_text("x")
    assert "is not a complete zip" in refuse(tmp_path / "a.txt")
