"""PNG, scaling for chat models, masks and the combined picture."""

import io
import json
from pathlib import Path

import numpy as np
import pytest
from PIL import Image as Pillow

from curation.evaluation.nleye_pictures import combined_layout
from curation.generation.pictures import (
    combined_picture,
    mask_from_boxes,
    scale_for_chat,
    size_for_chat,
    to_png,
)
from curation.records import InvalidInput, Region
from tests.support.generation import picture_file, pixels

CASES = Path(__file__).parents[2] / "cases" / "nleye.json"


def test_the_layout_is_that_of_the_case() -> None:
    (case,) = (case for case in json.loads(CASES.read_text())["cases"] if case["name"] == "combined-picture")
    found = []
    for sizes in case["given"]["sizes"]:
        files = [picture_file(size=tuple(size)) for size in sizes]
        combined = combined_picture(files)
        layout = combined_layout([tuple(size) for size in sizes])
        assert (combined.width, combined.height) == layout.size
        found.append(
            {
                "widths": list(layout.widths),
                "lefts": list(layout.lefts),
                "size": [combined.width, combined.height],
            }
        )
    assert found == case["expected"]["layouts"]


def test_the_combined_picture_is_white_between_the_images_and_lanczos_inside() -> None:
    files = [
        picture_file(size=(300, 600)),
        picture_file("JPEG", (640, 480), seed=1),
        picture_file(size=(512, 512), seed=2),
    ]
    combined = combined_picture(files)
    assert (combined.width, combined.height) == (256 + 16 + 683 + 16 + 512, 512)
    found = np.asarray(pixels(combined.data))
    assert (found[:, 256:272] == 255).all()
    assert (found[:, 955:971] == 255).all()
    scaled = np.asarray(pixels(files[0]).resize((256, 512), Pillow.Resampling.LANCZOS))
    assert (found[:, :256] == scaled).all()
    assert (found[:, 971:] == np.asarray(pixels(files[2]))).all()
    assert combined_picture(files).data == combined.data


def test_the_combined_picture_names_a_broken_file() -> None:
    with pytest.raises(InvalidInput, match=r"^hypothesis2: is not a readable image"):
        combined_picture([picture_file()] * 2 + [b"nothing"], names=["premise", "hypothesis1", "hypothesis2"])


@pytest.mark.parametrize("kind", ["JPEG", "PNG", "WEBP"])
def test_every_image_becomes_a_png_without_metadata(kind: str) -> None:
    picture = Pillow.open(io.BytesIO(picture_file(size=(40, 20))))
    exif = Pillow.Exif()
    exif[0x0112] = 6  # turned
    exif[0x010E] = "secret prompt"
    buffer = io.BytesIO()
    picture.save(buffer, kind, exif=exif)
    png = to_png(buffer.getvalue(), "image")
    opened = Pillow.open(io.BytesIO(png.data))
    assert (opened.format, opened.mode, opened.size, opened.info) == ("PNG", "RGB", (20, 40), {})
    assert b"secret" not in png.data
    assert (png.width, png.height) == (20, 40)


def test_what_is_no_image_is_refused() -> None:
    cut = picture_file(size=(400, 400))[:-2000]
    for data, message in ((b"GIF89a", "not a readable"), (cut, "not a readable"), (b"", "not a readable")):
        with pytest.raises(InvalidInput, match=f"^a file: .*{message}"):
            to_png(data, "a file")
    with pytest.raises(InvalidInput, match="too large; use 0 MB"):
        to_png(picture_file(), "a file", max_bytes=100)


def test_a_bomb_is_refused_before_it_is_decoded() -> None:
    buffer = io.BytesIO()
    Pillow.new("1", (20_000, 20_000)).save(buffer, "PNG")
    with pytest.raises(InvalidInput, match=r"too many pixels|too large|pixel format"):
        to_png(buffer.getvalue(), "bomb")


SENT_SIZES = {
    (1024, 1024): (1024, 1024),
    (100, 50): (100, 50),
    (1568, 512): (1024, 334),
    (512, 3000): (175, 1024),
    (5000, 1): (1024, 1),
}


@pytest.mark.parametrize(("size", "expected"), SENT_SIZES.items())
def test_images_for_chat_have_a_longest_side_of_1024(
    size: tuple[int, int], expected: tuple[int, int]
) -> None:
    assert size_for_chat(*size) == expected
    if max(size) < 2000:
        png, original = scale_for_chat(picture_file(size=size), "image")
        assert (png.width, png.height, original) == (*expected, size)


def test_a_mask_is_white_in_its_boxes_alone() -> None:
    mask = np.asarray(pixels(mask_from_boxes((30, 20), [Region(2, 3, 5, 4), Region(28, 0, 2, 20)])))[:, :, 0]
    expected = np.zeros((20, 30), dtype=np.uint8)
    expected[3:7, 2:7] = expected[:, 28:] = 255
    assert (mask == expected).all()


@pytest.mark.parametrize("boxes", [[], [Region(28, 0, 3, 2)], [Region(-1, 0, 3, 2)]])
def test_a_mask_without_a_box_inside_is_refused(boxes: list[Region]) -> None:
    with pytest.raises(InvalidInput, match=r"^mask: "):
        mask_from_boxes((30, 20), boxes)
