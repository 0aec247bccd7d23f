"""Generated pictures as PNG, their sizes for a model's view, and the combined picture of a triplet."""

import io
from collections.abc import Sequence
from typing import NamedTuple

from PIL import Image as Pillow
from PIL import ImageDraw

from curation.evaluation.nleye_pictures import COMBINED_HEIGHT, combined_layout
from curation.records import InvalidInput, Region
from hits.domain.images.decoding import UnusableImage, decode_image

MAX_PIXELS = 50_000_000
MAX_FILE_BYTES = 40 * 1024 * 1024
LONGEST_SIDE = 1024  # pixels of an image that a chat model is sent


class Png(NamedTuple):
    """An image as a PNG file, and its size in pixels."""

    data: bytes
    width: int
    height: int


def to_png(data: bytes, where: str, *, max_bytes: int = MAX_FILE_BYTES) -> Png:
    """Return an image file of any known format, decoded and encoded again as PNG without metadata.

    Args:
        where: starts the message, such as the name of a file.

    Raises:
        InvalidInput: the file is no usable image.
    """
    return encode_png(decode_picture(data, where, max_bytes=max_bytes))


def decode_picture(data: bytes, where: str, *, max_bytes: int = MAX_FILE_BYTES) -> Pillow.Image:
    """Return an image file's upright RGB pixels. Arguments and errors are those of ``to_png``."""
    try:
        picture, _ = decode_image(where, data, max_bytes=max_bytes, max_pixels=MAX_PIXELS, check_suffix=False)
    except UnusableImage as error:
        raise InvalidInput(str(error)) from error
    return picture


def encode_png(picture: Pillow.Image) -> Png:
    """Return an RGB picture as PNG. The same pixels give the same bytes."""
    buffer = io.BytesIO()
    picture.save(buffer, "PNG")
    return Png(buffer.getvalue(), picture.width, picture.height)


def combined_picture(pictures: Sequence[bytes], *, names: Sequence[str] = ()) -> Png:
    """Return image files side by side on white: the premise left, then the hypotheses in the order shown.

    Args:
        names: of the files, for messages.

    Raises:
        InvalidInput: a file is no usable image.
    """
    labels = names or [f"image {number}" for number in range(1, len(pictures) + 1)]
    decoded = [decode_picture(data, label) for data, label in zip(pictures, labels, strict=True)]
    layout = combined_layout([picture.size for picture in decoded])
    combined = Pillow.new("RGB", layout.size, "white")
    for picture, width, left in zip(decoded, layout.widths, layout.lefts, strict=True):
        combined.paste(picture.resize((width, COMBINED_HEIGHT), Pillow.Resampling.LANCZOS), (left, 0))
    return encode_png(combined)


def size_for_chat(width: int, height: int) -> tuple[int, int]:
    """Return the size in which a chat model is sent an image: its longest side has at most 1,024 pixels."""
    longest = max(width, height)
    if longest <= LONGEST_SIDE:
        return width, height
    return tuple(max(1, (side * LONGEST_SIDE * 2 + longest) // (2 * longest)) for side in (width, height))  # type: ignore[return-value]


def scale_for_chat(data: bytes, where: str) -> tuple[Png, tuple[int, int]]:
    """Return an image file as the PNG that a chat model is sent, and its original size.

    Raises:
        InvalidInput: the file is no usable image.
    """
    picture = decode_picture(data, where)
    original = picture.size
    target = size_for_chat(*original)
    if target != original:
        picture = picture.resize(target, Pillow.Resampling.LANCZOS)
    return encode_png(picture), original


def mask_from_boxes(size: tuple[int, int], boxes: Sequence[Region]) -> bytes:
    """Return a mask as PNG: the boxes white (redrawn), everything else black (kept).

    Raises:
        InvalidInput: there is no box, or one leaves the image.
    """
    width, height = size
    if not boxes:
        raise InvalidInput("mask: has no box; mark the region to redraw")
    mask = Pillow.new("L", size, 0)
    draw = ImageDraw.Draw(mask)
    for box in boxes:
        if box.left < 0 or box.top < 0 or box.right > width or box.bottom > height:
            raise InvalidInput(
                f"mask: box {box} leaves the image of {width} × {height} pixels; draw it inside"
            )
        draw.rectangle((box.left, box.top, box.right - 1, box.bottom - 1), fill=255)
    return encode_png(mask.convert("RGB")).data
