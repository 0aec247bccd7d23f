"""Drawn scenes of people and objects. Their boxes and outlines are known, and no real person is shown."""

import math
import random
from collections.abc import Callable
from dataclasses import dataclass

from PIL import Image, ImageDraw

from hits.domain.images.detections import PERSON, DetectedObject
from hits.domain.images.polygons import Polygon

WIDTH, HEIGHT = 640, 360
FILMS = ("harbour", "market", "school")
SCENES_PER_FILM = 10
WALL_AND_FLOOR_COLOURS = (
    ((196, 219, 233), (120, 141, 104)),
    ((244, 226, 198), (171, 132, 99)),
    ((214, 205, 224), (110, 104, 128)),
    ((247, 240, 214), (190, 176, 140)),
    ((176, 196, 190), (88, 110, 117)),
)
SHIRTS = ((190, 52, 44), (36, 84, 160), (240, 176, 32), (40, 128, 96), (120, 60, 140), (230, 230, 230))
SKINS = ((92, 60, 44), (150, 104, 76), (224, 178, 146), (246, 214, 188))
OTHER_CLASSES = ("chair", "cup", "dog", "car", "vase", "bicycle")
_CIRCLE_POINTS = 24
Shape = tuple[Polygon, tuple[int, int, int]]


@dataclass(frozen=True, slots=True)
class Scene:
    """A picture (640 × 360, RGB) and its list of objects, in the list's order."""

    film: str
    number: int
    picture: Image.Image
    objects: tuple[DetectedObject, ...]

    @property
    def name(self) -> str:
        """The file name of the scene as a photo. It has no folder, because the import drops folders."""
        return f"{self.film}-{self.number}.png"


def draw_scenes(film: str) -> list[Scene]:
    """Return the scenes of a film; every call draws the same scenes."""
    return [_draw_scene(film, number) for number in range(SCENES_PER_FILM)]


def _draw_scene(film: str, number: int) -> Scene:
    generator = random.Random(f"{film} {number}")  # noqa: S311 - positions in a drawing
    wall, floor = WALL_AND_FLOOR_COLOURS[(number + FILMS.index(film)) % len(WALL_AND_FLOOR_COLOURS)]
    picture = Image.new("RGB", (WIDTH, HEIGHT), wall)
    canvas = ImageDraw.Draw(picture)
    canvas.rectangle((0, HEIGHT * 2 // 3, WIDTH, HEIGHT), fill=floor)
    people = generator.randint(2, 3)
    others = generator.sample(OTHER_CLASSES, generator.randint(2, 3))
    names = [PERSON] * people + others
    slots = generator.sample(range(len(names)), len(names))
    width = WIDTH / len(names)
    objects = []
    for rank, (name, slot) in enumerate(zip(names, slots, strict=True)):
        left = slot * width + width * 0.18
        shapes = _SHAPES[name](left, generator.uniform(300, 340), width * 0.64, generator)
        for outline, colour in shapes:
            canvas.polygon(outline, fill=colour, outline=(40, 36, 34))
        objects.append(_as_object(name, shapes, rank))
    return Scene(film, number, picture, tuple(objects))


def _as_object(name: str, shapes: list[Shape], rank: int) -> DetectedObject:
    points = [point for outline, _ in shapes for point in outline]
    box = (
        max(0.0, min(x for x, _ in points)),
        max(0.0, min(y for _, y in points)),
        min(float(WIDTH), max(x for x, _ in points)),
        min(float(HEIGHT), max(y for _, y in points)),
    )
    return DetectedObject(
        name, _rounded(box), round(0.99 - rank / 100, 2), tuple(outline for outline, _ in shapes)
    )


def _rounded(box: tuple[float, float, float, float]) -> tuple[float, float, float, float]:
    left, top, right, bottom = (round(value, 1) for value in box)
    return left, top, right, bottom


def _polygon(*points: tuple[float, float]) -> Polygon:
    return tuple(
        (round(min(max(x, 0), WIDTH - 1), 1), round(min(max(y, 0), HEIGHT - 1), 1)) for x, y in points
    )


def _rectangle(left: float, top: float, right: float, bottom: float) -> Polygon:
    return _polygon((left, top), (right, top), (right, bottom), (left, bottom))


def _circle(x: float, y: float, radius: float) -> Polygon:
    angles = (k * math.tau / _CIRCLE_POINTS for k in range(_CIRCLE_POINTS))
    return _polygon(*((x + radius * math.cos(a), y + radius * math.sin(a)) for a in angles))


def _person(left: float, ground: float, width: float, generator: random.Random) -> list[Shape]:
    height = generator.uniform(170, 230)
    middle, head = left + width / 2, height / 8
    shoulder = min(width / 2, height / 6)
    top = ground - height
    hip = top + height * 0.58
    legs = _polygon(
        (middle - shoulder * 0.7, hip),
        (middle + shoulder * 0.7, hip),
        (middle + shoulder * 0.8, ground),
        (middle + shoulder * 0.2, ground),
        (middle, hip + height * 0.12),
        (middle - shoulder * 0.2, ground),
        (middle - shoulder * 0.8, ground),
    )
    body = _polygon(
        (middle - shoulder, top + head * 2),
        (middle + shoulder, top + head * 2),
        (middle + shoulder * 0.75, hip + 4),
        (middle - shoulder * 0.75, hip + 4),
    )
    return [
        (legs, (52, 56, 72)),
        (body, generator.choice(SHIRTS)),
        (_circle(middle, top + head, head), generator.choice(SKINS)),
    ]


def _chair(left: float, ground: float, width: float, generator: random.Random) -> list[Shape]:
    seat, back = ground - 60, ground - 130
    depth = min(width, 70)
    outline = _polygon(
        (left, back), (left + 10, back), (left + 10, seat), (left + depth, seat), (left + depth, ground),
        (left + depth - 8, ground), (left + depth - 8, seat + 12), (left + 10, seat + 12), (left + 10, ground),
        (left, ground),
    )  # fmt: skip
    return [(outline, (150, 98, 56))]


def _cup(left: float, ground: float, width: float, generator: random.Random) -> list[Shape]:
    table = _rectangle(left, ground - 70, left + min(width, 90), ground - 62)
    cup = _polygon(
        (left + 20, ground - 100),
        (left + 50, ground - 100),
        (left + 46, ground - 70),
        (left + 24, ground - 70),
    )
    return [(table, (120, 84, 60)), (cup, (246, 246, 240))]


def _dog(left: float, ground: float, width: float, generator: random.Random) -> list[Shape]:
    length = min(width, 95)
    body = _polygon(
        (left, ground - 55), (left + length * 0.7, ground - 55), (left + length * 0.72, ground - 78),
        (left + length, ground - 72), (left + length, ground - 54), (left + length * 0.8, ground - 48),
        (left + length * 0.78, ground), (left + length * 0.66, ground), (left + length * 0.62, ground - 28),
        (left + length * 0.2, ground - 28), (left + length * 0.18, ground), (left + length * 0.06, ground),
    )  # fmt: skip
    return [(body, generator.choice(((110, 78, 52), (60, 54, 50), (214, 184, 140))))]


def _car(left: float, ground: float, width: float, generator: random.Random) -> list[Shape]:
    length = min(width * 1.3, 150)
    body = _polygon(
        (left, ground - 42), (left + length * 0.2, ground - 46), (left + length * 0.34, ground - 76),
        (left + length * 0.7, ground - 76), (left + length * 0.84, ground - 46), (left + length, ground - 40),
        (left + length, ground - 14), (left, ground - 14),
    )  # fmt: skip
    wheels = [(_circle(left + length * share, ground - 12, 13), (30, 30, 32)) for share in (0.22, 0.78)]
    return [(body, generator.choice(((176, 40, 40), (40, 70, 120), (226, 190, 60)))), *wheels]


def _vase(left: float, ground: float, width: float, generator: random.Random) -> list[Shape]:
    stand = _rectangle(left + 10, ground - 80, left + 70, ground - 74)
    vase = _polygon(
        (left + 30, ground - 80),
        (left + 22, ground - 100),
        (left + 32, ground - 118),
        (left + 48, ground - 118),
        (left + 58, ground - 100),
        (left + 50, ground - 80),
    )
    return [(stand, (120, 84, 60)), (vase, generator.choice(SHIRTS[:5]))]


def _bicycle(left: float, ground: float, width: float, generator: random.Random) -> list[Shape]:
    length = min(width, 110)
    wheels = [(_circle(left + length * share, ground - 24, 24), (70, 70, 74)) for share in (0.2, 0.85)]
    frame = _polygon(
        (left + length * 0.2, ground - 28), (left + length * 0.4, ground - 70), (left + length * 0.78, ground - 72),
        (left + length * 0.85, ground - 26), (left + length * 0.74, ground - 60), (left + length * 0.44, ground - 58),
    )  # fmt: skip
    return [*wheels, (frame, generator.choice(SHIRTS[:5]))]


_SHAPES: dict[str, Callable[[float, float, float, random.Random], list[Shape]]] = {
    PERSON: _person,
    "chair": _chair,
    "cup": _cup,
    "dog": _dog,
    "car": _car,
    "vase": _vase,
    "bicycle": _bicycle,
}
