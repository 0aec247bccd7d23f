"""Numbers from hashes and a canvas with its own coordinates, for test drawings."""

import hashlib
from collections.abc import Sequence
from dataclasses import dataclass, field

from PIL import Image as Pillow
from PIL import ImageDraw

Colour = tuple[int, int, int]
Point = tuple[float, float]


class HashNumbers:
    """Numbers that depend on a key and a label alone: the same on every machine and in every version of Python."""

    def __init__(self, *key: object) -> None:
        self._key = "\n".join(map(str, key))

    def share(self, label: str) -> float:
        """Return a number from 0 to below 1."""
        digest = hashlib.sha256(f"{self._key}\n{label}".encode("utf-8", "surrogatepass")).digest()
        return int.from_bytes(digest[:6], "big") / 2**48

    def pick(self, label: str, count: int) -> int:
        """Return a number from 0 to ``count`` - 1."""
        return int(self.share(label) * count)

    def between(self, label: str, low: float, high: float) -> float:
        """Return a number from ``low`` to below ``high``."""
        return low + (high - low) * self.share(label)


def mix(first: Colour, second: Colour, share: float) -> Colour:
    """Return a colour between two: ``share`` 0 is the first, 1 the second."""
    r, g, b = (round(a + (z - a) * share) for a, z in zip(first, second, strict=True))
    return r, g, b


WHITE: Colour = (255, 255, 255)
BLACK: Colour = (30, 30, 38)


@dataclass(frozen=True)
class Palette:
    """The colours of a drawing."""

    sky: tuple[Colour, Colour]
    ground: Colour
    wall: Colour
    floor: Colour
    clothes: tuple[Colour, ...]
    skin: tuple[Colour, ...] = field(
        default=((244, 208, 177), (224, 172, 125), (176, 120, 80), (116, 76, 52), (92, 60, 44))
    )
    hair: tuple[Colour, ...] = field(
        default=((52, 38, 30), (96, 62, 36), (28, 26, 30), (178, 128, 66), (120, 116, 112))
    )


PALETTES = (
    Palette(
        ((132, 190, 232), (226, 241, 248)), (128, 172, 104), (240, 228, 208), (186, 146, 108),
        ((214, 84, 72), (52, 112, 176), (240, 178, 68), (92, 150, 110)),
    ),
    Palette(
        ((154, 200, 214), (244, 238, 214)), (158, 176, 100), (226, 234, 230), (160, 132, 110),
        ((176, 72, 108), (64, 132, 140), (234, 150, 86), (90, 92, 150)),
    ),
    Palette(
        ((120, 172, 220), (250, 226, 206)), (112, 158, 120), (246, 236, 222), (150, 120, 96),
        ((60, 96, 150), (222, 120, 80), (120, 150, 82), (150, 90, 140)),
    ),
    Palette(
        ((168, 206, 224), (240, 244, 240)), (140, 170, 128), (224, 226, 238), (176, 158, 136),
        ((200, 92, 92), (78, 128, 100), (88, 108, 170), (226, 184, 90)),
    ),
)  # fmt: skip


class Frame:
    """A part of a picture with its own coordinates: the origin on the ground, x to the right, y upwards.

    One unit is ``unit`` pixels, the height of what is drawn.
    """

    def __init__(self, draw: ImageDraw.ImageDraw, origin: Point, unit: float) -> None:
        self._draw = draw
        self._x, self._y = origin
        self._unit = unit

    def part(self, x: float, y: float, scale: float) -> "Frame":
        """Return a smaller frame with its origin at (x, y) of this one."""
        return Frame(self._draw, self._at(x, y), self._unit * scale)

    def ellipse(self, x: float, y: float, rx: float, ry: float, fill: Colour) -> None:
        """Fill an ellipse around (x, y)."""
        left, top = self._at(x - rx, y + ry)
        right, bottom = self._at(x + rx, y - ry)
        self._draw.ellipse((left, top, right, bottom), fill=fill)

    def box(
        self, left: float, bottom: float, right: float, top: float, fill: Colour, radius: float = 0.0
    ) -> None:
        """Fill a box with round corners."""
        first, second = self._at(left, top), self._at(right, bottom)
        self._draw.rounded_rectangle((*first, *second), radius=radius * self._unit, fill=fill)

    def polygon(self, points: Sequence[Point], fill: Colour) -> None:
        """Fill a polygon."""
        self._draw.polygon([self._at(*point) for point in points], fill=fill)

    def line(self, points: Sequence[Point], width: float, fill: Colour) -> None:
        """Draw a line with round ends."""
        pixels = max(1, round(width * self._unit))
        spots = [self._at(*point) for point in points]
        self._draw.line(spots, fill=fill, width=pixels, joint="curve")
        for x, y in (spots[0], spots[-1]):
            half = pixels / 2
            self._draw.ellipse((x - half, y - half, x + half, y + half), fill=fill)

    def arc(  # noqa: PLR0917
        self,
        x: float,
        y: float,
        rx: float,
        ry: float,
        degrees: tuple[float, float],
        width: float,
        fill: Colour,
    ) -> None:
        """Draw a part of an ellipse; 0 degrees is at the right, and degrees grow clockwise."""
        left, top = self._at(x - rx, y + ry)
        right, bottom = self._at(x + rx, y - ry)
        self._draw.arc(
            (left, top, right, bottom), *degrees, fill=fill, width=max(1, round(width * self._unit))
        )

    def _at(self, x: float, y: float) -> Point:
        return self._x + x * self._unit, self._y - y * self._unit


def vertical_gradient(size: tuple[int, int], top: Colour, bottom: Colour) -> Pillow.Image:
    """Return a picture whose colour changes from top to bottom."""
    column = Pillow.new("RGB", (1, size[1]))
    for y in range(size[1]):
        column.putpixel((0, y), mix(top, bottom, y / max(1, size[1] - 1)))
    return column.resize(size, Pillow.Resampling.NEAREST)
