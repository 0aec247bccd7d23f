"""Objects that test drawings show: flat shapes, one unit high, standing on the ground."""

import re
from collections.abc import Callable, Mapping
from typing import NamedTuple

from curation.generation.drawing_canvas import BLACK, WHITE, Colour, Frame, mix

Draw = Callable[[Frame, Colour], None]
_WOOD: Colour = (150, 106, 70)
_GREEN: Colour = (84, 140, 84)
_GREY: Colour = (150, 156, 164)
_STEEL: Colour = (96, 104, 116)
_GLASS: Colour = (198, 224, 236)
_CREAM: Colour = (250, 244, 230)


def _umbrella(frame: Frame, colour: Colour) -> None:
    frame.line([(0, 0.05), (0, 0.9)], 0.035, BLACK)
    frame.polygon(
        [(-0.5, 0.55), (-0.42, 0.75), (-0.25, 0.9), (0, 0.97), (0.25, 0.9), (0.42, 0.75), (0.5, 0.55)], colour
    )
    for number in range(4):
        frame.ellipse(-0.375 + number * 0.25, 0.55, 0.125, 0.05, mix(colour, BLACK, 0.3))
    frame.arc(0.07, 0.06, 0.07, 0.06, (0, 180), 0.035, BLACK)


def _tree(frame: Frame, colour: Colour) -> None:
    frame.box(-0.06, 0, 0.06, 0.5, _WOOD)
    leaves = mix(_GREEN, colour, 0.12)
    for x, y, r in ((-0.2, 0.55, 0.2), (0.2, 0.55, 0.2), (0, 0.76, 0.24), (0, 0.56, 0.22)):
        frame.ellipse(x, y, r, r, leaves)
    frame.ellipse(-0.08, 0.8, 0.1, 0.08, mix(leaves, WHITE, 0.2))


def _building(frame: Frame, colour: Colour) -> None:
    frame.box(-0.45, 0, 0.45, 0.58, mix(colour, _CREAM, 0.75))
    frame.polygon([(-0.55, 0.56), (0, 1), (0.55, 0.56)], mix(colour, BLACK, 0.15))
    frame.box(-0.09, 0, 0.11, 0.34, _WOOD, 0.02)
    for x in (-0.29, 0.3):
        frame.box(x - 0.1, 0.25, x + 0.1, 0.45, _GLASS)


def _car(frame: Frame, colour: Colour) -> None:
    frame.box(-0.95, 0.14, 0.95, 0.58, colour, 0.14)
    frame.polygon([(-0.6, 0.55), (-0.42, 0.96), (0.32, 0.96), (0.62, 0.55)], colour)
    frame.polygon([(-0.48, 0.57), (-0.36, 0.88), (-0.06, 0.88), (-0.06, 0.57)], _GLASS)
    frame.polygon([(0.02, 0.57), (0.02, 0.88), (0.28, 0.88), (0.5, 0.57)], _GLASS)
    for x in (-0.55, 0.55):
        frame.ellipse(x, 0.15, 0.19, 0.19, BLACK)
        frame.ellipse(x, 0.15, 0.08, 0.08, _GREY)
    frame.ellipse(0.88, 0.42, 0.05, 0.06, (255, 236, 150))


def _bus(frame: Frame, colour: Colour) -> None:
    frame.box(-0.95, 0.12, 0.95, 0.98, colour, 0.08)
    for number in range(5):
        frame.box(-0.86 + number * 0.35, 0.52, -0.58 + number * 0.35, 0.86, _GLASS, 0.02)
    for x in (-0.55, 0.55):
        frame.ellipse(x, 0.13, 0.13, 0.13, BLACK)


def _bicycle(frame: Frame, colour: Colour) -> None:
    for x in (-0.5, 0.5):
        frame.arc(x, 0.34, 0.34, 0.34, (0, 360), 0.05, BLACK)
    frame.line([(-0.5, 0.34), (-0.12, 0.36), (0.38, 0.74), (-0.22, 0.74), (-0.5, 0.34)], 0.05, colour)
    frame.line([(-0.12, 0.36), (-0.27, 0.88)], 0.05, colour)
    frame.line([(0.5, 0.34), (0.34, 0.92), (0.5, 0.96)], 0.05, colour)
    frame.box(-0.4, 0.86, -0.16, 0.93, BLACK, 0.03)


def _table(frame: Frame, colour: Colour) -> None:
    for x in (-0.75, 0.68):
        frame.box(x, 0, x + 0.08, 0.9, mix(_WOOD, BLACK, 0.25))
    frame.box(-0.9, 0.88, 0.9, 1, mix(_WOOD, colour, 0.15), 0.03)


def _chair(frame: Frame, colour: Colour) -> None:
    for x in (-0.24, 0.18):
        frame.box(x, 0, x + 0.06, 0.45, _WOOD)
    frame.box(-0.28, 0.42, 0.28, 0.5, colour, 0.02)
    frame.box(-0.28, 0.48, -0.2, 1, _WOOD)
    frame.box(-0.28, 0.7, 0.02, 0.98, mix(colour, WHITE, 0.15), 0.04)


def _cup(frame: Frame, colour: Colour) -> None:
    frame.arc(0.36, 0.4, 0.2, 0.2, (0, 360), 0.08, colour)
    frame.box(-0.36, 0, 0.36, 0.7, colour, 0.12)
    frame.ellipse(0, 0.69, 0.36, 0.09, mix(colour, BLACK, 0.5))
    for x in (-0.14, 0.12):
        frame.line([(x, 0.78), (x + 0.06, 0.88), (x - 0.02, 0.98)], 0.05, mix(_GREY, WHITE, 0.4))


def _open_pages(frame: Frame, colour: Colour) -> None:
    frame.polygon([(-0.8, 0.1), (0, 0), (0.8, 0.1), (0.8, 0.85), (0, 0.75), (-0.8, 0.85)], colour)
    frame.polygon([(-0.72, 0.18), (-0.02, 0.09), (-0.02, 0.8), (-0.72, 0.9)], _CREAM)
    frame.polygon([(0.72, 0.18), (0.02, 0.09), (0.02, 0.8), (0.72, 0.9)], _CREAM)
    for number in range(4):
        y = 0.32 + number * 0.13
        frame.line([(-0.6, y), (-0.16, y - 0.05)], 0.03, _GREY)
        frame.line([(0.6, y), (0.16, y - 0.05)], 0.03, _GREY)


def _dog(frame: Frame, colour: Colour) -> None:
    coat = mix(_WOOD, colour, 0.2)
    for x in (-0.42, -0.28, 0.2, 0.34):
        frame.line([(x, 0.4), (x, 0.05)], 0.09, coat)
    frame.ellipse(-0.04, 0.45, 0.5, 0.2, coat)
    frame.line([(-0.5, 0.5), (-0.72, 0.78)], 0.08, coat)
    frame.ellipse(0.52, 0.7, 0.24, 0.22, coat)
    frame.ellipse(0.72, 0.64, 0.15, 0.1, mix(coat, WHITE, 0.25))
    frame.ellipse(0.84, 0.67, 0.05, 0.04, BLACK)
    frame.ellipse(0.38, 0.68, 0.09, 0.2, mix(coat, BLACK, 0.35))
    frame.ellipse(0.58, 0.76, 0.035, 0.04, BLACK)


def _cat(frame: Frame, colour: Colour) -> None:
    coat = mix(_GREY, colour, 0.25)
    frame.arc(-0.42, 0.3, 0.28, 0.3, (90, 270), 0.09, coat)
    frame.ellipse(0, 0.3, 0.36, 0.32, coat)
    frame.ellipse(0.04, 0.74, 0.26, 0.22, coat)
    for x in (-0.12, 0.2):
        frame.polygon([(x - 0.12, 0.86), (x, 1.06), (x + 0.11, 0.88)], coat)
        frame.ellipse(x - 0.02, 0.77, 0.04, 0.055, BLACK)
    frame.ellipse(0.03, 0.68, 0.035, 0.025, (220, 130, 140))


def _ball(frame: Frame, colour: Colour) -> None:
    frame.ellipse(0, 0.5, 0.5, 0.5, colour)
    frame.arc(0, 0.5, 0.28, 0.5, (0, 360), 0.06, WHITE)
    frame.line([(-0.48, 0.5), (0.48, 0.5)], 0.06, WHITE)


def _bed(frame: Frame, colour: Colour) -> None:
    frame.box(-1.25, 0, -1.15, 1, _WOOD, 0.03)
    frame.box(-1.2, 0.15, 1.2, 0.45, _CREAM, 0.06)
    frame.box(-0.55, 0.3, 1.22, 0.6, colour, 0.08)
    frame.box(-1.1, 0.42, -0.6, 0.66, WHITE, 0.1)
    frame.box(1.12, 0, 1.22, 0.55, _WOOD, 0.03)


def _phone(frame: Frame, colour: Colour) -> None:
    frame.box(-0.26, 0, 0.26, 1, BLACK, 0.08)
    frame.box(-0.21, 0.12, 0.21, 0.9, mix(colour, WHITE, 0.6))


def _laptop(frame: Frame, colour: Colour) -> None:
    frame.box(-0.62, 0.12, 0.62, 1, _STEEL, 0.05)
    frame.box(-0.55, 0.2, 0.55, 0.93, mix(colour, WHITE, 0.65))
    frame.polygon([(-0.75, 0), (0.75, 0), (0.62, 0.14), (-0.62, 0.14)], _GREY)


def _clock(frame: Frame, colour: Colour) -> None:
    frame.ellipse(0, 0.5, 0.5, 0.5, mix(colour, BLACK, 0.2))
    frame.ellipse(0, 0.5, 0.42, 0.42, _CREAM)
    frame.line([(0, 0.5), (0, 0.82)], 0.05, BLACK)
    frame.line([(0, 0.5), (0.2, 0.42)], 0.06, BLACK)


def _flowers(frame: Frame, colour: Colour) -> None:
    for x, y in ((-0.22, 0.78), (0, 0.92), (0.22, 0.76)):
        frame.line([(0, 0.3), (x, y)], 0.04, _GREEN)
        for dx, dy in ((-0.09, 0), (0.09, 0), (0, 0.09), (0, -0.09)):
            frame.ellipse(x + dx, y + dy, 0.075, 0.075, colour)
        frame.ellipse(x, y, 0.06, 0.06, (250, 210, 90))
    frame.polygon([(-0.2, 0.4), (0.2, 0.4), (0.14, 0), (-0.14, 0)], mix(colour, _CREAM, 0.6))


def _cake(frame: Frame, colour: Colour) -> None:
    frame.ellipse(0, 0.05, 0.75, 0.07, _GREY)
    frame.box(-0.6, 0.06, 0.6, 0.58, mix(colour, _CREAM, 0.45), 0.06)
    frame.box(-0.6, 0.42, 0.6, 0.6, _CREAM, 0.06)
    for x in (-0.3, 0, 0.3):
        frame.box(x - 0.03, 0.58, x + 0.03, 0.84, colour)
        frame.ellipse(x, 0.9, 0.045, 0.08, (255, 190, 60))


def _fire(frame: Frame, colour: Colour) -> None:
    frame.line([(-0.5, 0.04), (0.45, 0.2)], 0.1, _WOOD)
    frame.line([(0.5, 0.04), (-0.45, 0.2)], 0.1, _WOOD)
    frame.polygon(
        [(-0.38, 0.12), (-0.28, 0.55), (-0.1, 0.42), (0.02, 1), (0.2, 0.5), (0.34, 0.6), (0.38, 0.12)],
        (236, 110, 50),
    )
    frame.polygon(
        [(-0.2, 0.12), (-0.08, 0.42), (0.04, 0.62), (0.2, 0.3), (0.2, 0.12)],
        mix((252, 214, 90), colour, 0.05),
    )


def _puddle(frame: Frame, colour: Colour) -> None:
    water = mix((128, 176, 214), colour, 0.05)
    frame.ellipse(0, 0.2, 1.1, 0.2, water)
    frame.ellipse(-0.3, 0.24, 0.4, 0.07, mix(water, WHITE, 0.45))


def _bag(frame: Frame, colour: Colour) -> None:
    frame.arc(0, 0.7, 0.2, 0.28, (180, 360), 0.06, mix(colour, BLACK, 0.35))
    frame.box(-0.4, 0, 0.4, 0.72, colour, 0.08)
    frame.box(-0.4, 0.4, 0.4, 0.48, mix(colour, BLACK, 0.2))


def _box(frame: Frame, colour: Colour) -> None:
    card = mix((196, 154, 104), colour, 0.08)
    frame.box(-0.5, 0, 0.5, 0.75, card)
    frame.polygon([(-0.5, 0.75), (-0.36, 0.98), (0.64, 0.98), (0.5, 0.75)], mix(card, WHITE, 0.2))
    frame.polygon([(0.5, 0.75), (0.64, 0.98), (0.64, 0.2), (0.5, 0)], mix(card, BLACK, 0.2))
    frame.box(-0.06, 0, 0.06, 0.75, mix(card, BLACK, 0.15))


def _lamp(frame: Frame, colour: Colour) -> None:
    frame.box(-0.2, 0, 0.2, 0.05, _STEEL, 0.02)
    frame.line([(0, 0.04), (0, 0.75)], 0.04, _STEEL)
    frame.polygon([(-0.28, 0.68), (0.28, 0.68), (0.16, 1), (-0.16, 1)], mix((252, 222, 130), colour, 0.1))


def _hat(frame: Frame, colour: Colour) -> None:
    frame.ellipse(0, 0.12, 0.8, 0.14, mix(colour, BLACK, 0.2))
    frame.box(-0.42, 0.12, 0.42, 0.9, colour, 0.2)
    frame.box(-0.42, 0.16, 0.42, 0.32, BLACK)


def _shoes(frame: Frame, colour: Colour) -> None:
    for x in (-0.5, 0.35):
        frame.polygon(
            [(x - 0.3, 0.1), (x - 0.3, 0.6), (x, 0.62), (x + 0.12, 0.36), (x + 0.42, 0.28), (x + 0.45, 0.1)],
            colour,
        )
        frame.box(x - 0.32, 0, x + 0.47, 0.12, _CREAM, 0.04)


def _food(frame: Frame, colour: Colour) -> None:
    frame.ellipse(0, 0.2, 1, 0.18, WHITE)
    frame.ellipse(0, 0.24, 0.7, 0.11, mix(_GREY, WHITE, 0.6))
    for x, share in ((-0.3, 0.2), (0.05, 0.6), (0.34, 0.35)):
        frame.ellipse(x, 0.4, 0.24, 0.2, mix(colour, (240, 200, 100), share))


def _ladder(frame: Frame, colour: Colour) -> None:
    rail = mix(_WOOD, colour, 0.15)
    for x in (-0.18, 0.18):
        frame.line([(x * 1.3, 0), (x * 0.8, 1)], 0.04, rail)
    for number in range(6):
        y = 0.12 + number * 0.15
        frame.line([(-0.2, y), (0.2, y)], 0.035, rail)


class DrawnObject(NamedTuple):
    """An item: how it is drawn, its height as a share of the picture's, its width in heights, if a table holds it.

    colour: the one that the prompt names; ``None`` if it names none.
    """

    draw: Draw
    height: float
    width: float
    is_on_table: bool
    colour: Colour | None = None


_OBJECTS: tuple[tuple[str, Draw, float, float, bool], ...] = (
    (r"umbrellas?|parasol", _umbrella, 0.44, 1.0, False),
    (r"dogs?|pupp(?:y|ies)", _dog, 0.22, 1.7, False),
    (r"cats?|kittens?", _cat, 0.18, 1.2, False),
    (r"bicycles?|bikes?|cycl\w+", _bicycle, 0.28, 1.7, False),
    (r"bus|buses|trams?|train", _bus, 0.42, 1.9, False),
    (r"cars?|taxi|truck|van|driv\w+", _car, 0.28, 1.9, False),
    (r"beds?|asleep|sleep\w*|bedroom", _bed, 0.26, 2.5, False),
    (r"ladders?", _ladder, 0.55, 0.5, False),
    (r"fire|flames?|campfire|smoke", _fire, 0.26, 1.0, False),
    (r"puddles?|wet|water|flood\w*|spill\w*|leak\w*", _puddle, 0.13, 2.2, False),
    (r"balls?|football|soccer|basketball|play\w*", _ball, 0.11, 1.0, False),
    (r"bags?|suitcases?|luggage|backpack|shopping", _bag, 0.2, 0.9, False),
    (r"box|boxes|parcel|package|gifts?|presents?", _box, 0.18, 1.2, False),
    (r"shoes?|boots?|sneakers?", _shoes, 0.1, 1.7, False),
    (r"chairs?|sits?|sitting|sofa|bench", _chair, 0.36, 0.6, False),
    (r"cups?|mug|coffee|tea|drink\w*", _cup, 0.1, 0.9, True),
    (r"books?|read\w*|exam|study\w*|homework", _open_pages, 0.1, 1.6, True),
    (r"laptops?|computers?|office|email", _laptop, 0.15, 1.5, True),
    (r"phones?|call\w*|mobile|smartphone", _phone, 0.12, 0.55, True),
    (r"cakes?|birthday|candles?", _cake, 0.16, 1.5, True),
    (r"flowers?|bouquet|roses?|plants?", _flowers, 0.18, 0.6, True),
    (r"food|meal|dinner|lunch|breakfast|eat\w*|cook\w*|plates?|dish\w*", _food, 0.08, 2.0, True),
    (r"clocks?|alarm|watch|late", _clock, 0.13, 1.0, True),
    (r"hats?|cap|helmet", _hat, 0.11, 1.6, True),
    (r"lamps?|lights?", _lamp, 0.2, 0.56, True),
)  # fmt: skip
_COLOURS: Mapping[str, Colour] = {
    "red": (206, 62, 54),
    "blue": (54, 104, 188),
    "green": (70, 140, 84),
    "yellow": (242, 200, 62),
    "orange": (236, 138, 52),
    "pink": (236, 142, 172),
    "purple": (128, 86, 160),
    "brown": (134, 92, 58),
    "black": (44, 44, 50),
    "white": (244, 244, 240),
    "grey": _GREY,
    "gray": _GREY,
}
MAX_OBJECTS = 6
TABLE: Draw = _table
TREE: Draw = _tree
BUILDING: Draw = _building
_PATTERNS = tuple(
    (re.compile(rf"\b(?:({'|'.join(_COLOURS)}) )?(?:{words})\b"), DrawnObject(draw, height, width, lies))
    for words, draw, height, width, lies in _OBJECTS
)


def find_objects(words: str, without: str = "") -> list[DrawnObject]:
    """Return the objects that a text in small letters names, in its order, apart from those of a negative prompt."""
    found = [
        (match.start(), item._replace(colour=_COLOURS.get(match[1] or "")))
        for pattern, item in _PATTERNS
        if (match := pattern.search(words)) and not pattern.search(without)
    ]
    return [item for _, item in sorted(found, key=lambda entry: entry[0])[:MAX_OBJECTS]]
