"""Boxes in integer pixels of the natural image, half-open: ``left <= x < left + width``."""

from collections.abc import Iterable
from dataclasses import asdict, dataclass
from typing import Any


@dataclass(frozen=True, slots=True, order=True)
class Box:
    """One rectangle in image pixels, with the four keys of the published corpus."""

    left: int
    top: int
    width: int
    height: int

    @property
    def right(self) -> int:
        """The first column to the right of the box."""
        return self.left + self.width

    @property
    def bottom(self) -> int:
        """The first row below the box."""
        return self.top + self.height

    @property
    def area(self) -> int:
        """The number of pixels."""
        return self.width * self.height

    def as_dict(self) -> dict[str, int]:
        """Return ``{"left", "top", "width", "height"}``."""
        return asdict(self)


class BoxError(ValueError):
    """A box that is not valid on its image; the message names the problem."""


def parse_box(raw: Any, *, image_width: int, image_height: int) -> Box:
    """Return a valid box within the image.

    Args:
        raw: a mapping with exactly the four integer keys, in image pixels.
        image_width, image_height: natural size of the image, in pixels.

    Raises:
        BoxError: a key is missing, unknown or not an integer; the area is zero; the box leaves the image.
    """
    keys = {"left", "top", "width", "height"}
    if not isinstance(raw, dict) or set(raw) != keys:
        raise BoxError("a box needs exactly four numbers: left, top, width and height")
    if any(isinstance(raw[key], bool) or not isinstance(raw[key], int) for key in keys):
        raise BoxError("left, top, width and height are whole pixels")
    box = Box(**raw)
    if box.width < 1 or box.height < 1:
        raise BoxError(f"the box is {box.width} × {box.height}: width and height must be at least 1")
    if box.left < 0 or box.top < 0 or box.right > image_width or box.bottom > image_height:
        raise BoxError(
            f"the box spans {box.left}–{box.right} × {box.top}–{box.bottom}, "
            f"but the image is {image_width} × {image_height}"
        )
    return box


def box_labels(box_count: int, pair_index: int) -> list[str]:
    """Return the tab labels of one pair's boxes: ``["2"]``, or ``["2a", "2b"]`` for several."""
    if box_count == 1:
        return [str(pair_index)]
    return [f"{pair_index}" + (chr(ord("a") + n) if n < 26 else f".{n + 1}") for n in range(box_count)]  # noqa: PLR2004


def summed_box_share(boxes: Iterable[Box], *, image_width: int, image_height: int) -> float:
    """Return the summed box area as a share of the image (overlaps count twice)."""
    return sum(box.area for box in boxes) / (image_width * image_height)
