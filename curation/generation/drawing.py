"""Test drawings: the offline default. Nobody should take one for a photograph, and a real version refuses them.

A drawing depends on the prompt, the seed and the size, and on a reference image if there is one. Its scenery and its
people's looks depend on the seed alone, so that images of one scene with one seed show the same place and people.
"""

import hashlib
import time
from typing import NamedTuple, cast

from PIL import Image as Pillow
from PIL import ImageDraw, ImageFont

from curation.generation import names
from curation.generation.drawing_canvas import BLACK, PALETTES, WHITE, Frame, HashNumbers, Palette, mix
from curation.generation.drawing_objects import TABLE, DrawnObject, find_objects
from curation.generation.drawing_people import count_people, draw_person, find_mood, names_children
from curation.generation.drawing_scenery import Scenery, draw_scenery, find_scenery
from curation.generation.images import MAX_SEED, MIN_SIDE, ImageReply, ImageRequest, check_abilities
from curation.generation.pictures import decode_picture, encode_png
from curation.records import InvalidInput

REVISION = "drawing/1"
LICENCE = "CC0-1.0"
WATERMARK = "test drawing"
MAX_SIDE = 2048  # pixels
_FINER = 2  # shapes are drawn at twice the size, then made smaller, for smooth edges
_CHILD = 0.78  # height of a child among adults
_CAPTION_SHARE = 0.2  # of the height
_MAX_LINES = 4
_MIN_FONT, _FONT_STEPS = 7, (0.052, 0.045, 0.038, 0.032, 0.027)  # pixels; shares of the longer side


class _Size(NamedTuple):
    width: int
    height: int


class DrawingGenerator:
    """The generator ``drawing``. Its seed is the one that was given, or one computed from the prompt."""

    name = names.DRAWING
    model = WATERMARK
    revision = REVISION
    licence = LICENCE
    can = frozenset(names.ABILITIES)

    def generate(self, request: ImageRequest) -> ImageReply:
        """Draw one image; see ``ImageGenerator``."""
        check_abilities(self, request)
        if max(request.width, request.height) > MAX_SIDE:
            raise InvalidInput(
                f"drawing: {request.width} × {request.height} pixels; use at most {MAX_SIDE:,} a side"
            )
        started = time.monotonic()
        seed = _seed_from_prompt(request.prompt) if request.seed is None else request.seed
        png = encode_png(draw_request(request, seed))
        return ImageReply(
            png=png.data,
            width=png.width,
            height=png.height,
            seed=seed,
            model=self.model,
            metadata={"watermark": WATERMARK},
            flagged=False,
            seconds=time.monotonic() - started,
        )


def draw_request(request: ImageRequest, seed: int) -> Pillow.Image:
    """Return the drawing of a request.

    Without a reference it is new. A reference alone gives colours and scenery. A strength mixes the new drawing into
    the reference. A mask redraws its white parts, and keeps every other pixel of the reference.
    """
    size = _Size(request.width, request.height)
    if request.reference is None:
        return _draw(request, seed, size, PALETTES[HashNumbers(seed).pick("palette", len(PALETTES))], seed)
    reference = decode_picture(request.reference, "reference image")
    palette = _palette_of(reference)
    if request.mask is not None:
        return _draw_region(request, seed, reference, palette)
    key = hashlib.sha256(request.reference).hexdigest()
    drawn = _draw(request, seed, size, palette, key)
    if request.strength is None:
        return drawn
    start = reference.resize(size, Pillow.Resampling.LANCZOS)
    mixed = Pillow.blend(start, drawn, request.strength)
    top = _caption_top(size)
    mixed.paste(drawn.crop((0, top, *size)), (0, top))
    return mixed


def _draw_region(request: ImageRequest, seed: int, reference: Pillow.Image, palette: Palette) -> Pillow.Image:
    """Return the reference with a drawing in the white parts of the mask; the size stays the reference's."""
    mask = decode_picture(request.mask or b"", "mask").convert("L")
    left, top, right, bottom = mask.getbbox() or (0, 0, *mask.size)
    region = _Size(right - left, bottom - top)
    drawn = _draw(request, seed, _Size(*(max(MIN_SIDE, side) for side in region)), palette, seed)
    layer = reference.copy()
    layer.paste(drawn.resize(region, Pillow.Resampling.LANCZOS), (left, top))
    return Pillow.composite(layer, reference, mask)


def _draw(request: ImageRequest, seed: int, size: _Size, palette: Palette, place: object) -> Pillow.Image:
    words, without = (" ".join(text.lower().split()) for text in (request.prompt, request.negative))
    top = _caption_top(size)
    large = Pillow.new("RGB", (size.width * _FINER, top * _FINER), WHITE)
    scenery = find_scenery(words, HashNumbers("place", place))
    draw_scenery(large, scenery, palette, HashNumbers("place", place))
    looks, numbers = HashNumbers("look", seed), HashNumbers("prompt", words, without, seed)
    _draw_contents(large, _Contents(words, without), palette, scenery, looks, numbers)
    if scenery.weather:
        scenery.draw_weather(large, HashNumbers("weather", words, seed))
    picture = Pillow.new("RGB", size, WHITE)
    picture.paste(large.resize((size.width, top), Pillow.Resampling.BOX), (0, 0))
    _draw_caption(picture, request.prompt, top, palette)
    _draw_watermark(picture)
    return picture


def _draw_contents(
    large: Pillow.Image,
    contents: "_Contents",
    palette: Palette,
    scenery: Scenery,
    looks: HashNumbers,
    numbers: HashNumbers,
) -> None:
    """Draw people and objects side by side on the ground, and small objects on a table."""
    draw = ImageDraw.Draw(large)
    width, height = large.size
    unit = min(height, width * 0.9)
    step = width / (contents.columns + 0.6)
    left = step * 0.3
    tallest = min(0.68, 1.9 * step / unit) * unit * (_CHILD if contents.has_children else 1.0)
    ground = palette.floor if scenery.is_indoors else palette.ground
    shadow = mix(ground, BLACK, 0.35)
    for index in sorted(range(contents.count), key=lambda index: numbers.share(f"order {index}")):
        room = step * contents.columns_of(index)
        at = (left + room / 2, height * (0.9 + 0.05 * (numbers.share(f"depth {index}") - 0.5)))
        left += room
        if index < contents.people:
            tall = tallest * numbers.between(f"tall {index}", 0.9, 1.0)
            draw_person(Frame(draw, at, tall), palette, looks, f"person {index}", contents.mood, shadow)
        elif index == contents.table:
            tall = min(unit * 0.34, room / 1.9, tallest * 0.55)
            _draw_table(draw, at, tall, contents.on_table, palette, numbers)
        else:
            item = contents.on_ground[index - contents.people]
            colour = item.colour or palette.clothes[numbers.pick(f"item {index}", len(palette.clothes))]
            item.draw(Frame(draw, at, min(unit * item.height * 1.2, room * 0.95 / item.width)), colour)


class _Contents:
    """What a drawing shows: people first, then standing objects, then a table with what lies on it."""

    def __init__(self, words: str, without: str) -> None:
        objects = find_objects(words, without)
        self.on_ground = [item for item in objects if not item.is_on_table]
        self.on_table = [item for item in objects if item.is_on_table]
        self.people = count_people(words) or (0 if objects else 1)
        self.has_children = names_children(words)
        self.mood = find_mood(words)
        self.count = self.people + len(self.on_ground) + bool(self.on_table)
        self.table = self.people + len(self.on_ground)
        self.columns = sum(self.columns_of(index) for index in range(self.count))

    def columns_of(self, index: int) -> float:
        """Return how much room the content of a number takes, where a person takes 1."""
        if index < self.people:
            return 1.0
        if index == self.table:
            return 1.8
        return max(0.8, min(2.4, self.on_ground[index - self.people].width))


def _draw_table(
    draw: ImageDraw.ImageDraw,
    at: tuple[float, float],
    tall: float,
    on_table: list[DrawnObject],
    palette: Palette,
    numbers: HashNumbers,
) -> None:
    x, y = at
    TABLE(Frame(draw, at, tall), palette.clothes[0])
    for number, item in enumerate(on_table):
        spot = x + tall * 1.6 * ((number + 0.5) / len(on_table) - 0.5)
        colour = item.colour or palette.clothes[numbers.pick(f"on_table {number}", len(palette.clothes))]
        size = min(tall * item.height * 4, tall * 1.6 / len(on_table) / item.width)
        item.draw(Frame(draw, (spot, y - tall), size), colour)


def _caption_top(size: _Size) -> int:
    return size.height - round(size.height * _CAPTION_SHARE)


def _draw_caption(picture: Pillow.Image, prompt: str, top: int, palette: Palette) -> None:
    draw = ImageDraw.Draw(picture)
    width, height = picture.size
    draw.rectangle((0, top, width, height), fill=(250, 249, 245))
    draw.rectangle((0, top, width, top + max(2, height // 160)), fill=mix(palette.clothes[0], BLACK, 0.2))
    margin = width * 0.035
    lines, font, line_height = _fit(prompt, width - 2 * margin, (height - top) * 0.86, max(width, height))
    y = top + (height - top - len(lines) * line_height) / 2 + height / 320
    for line in lines:
        draw.text((margin, y), line, font=font, fill=BLACK)
        y += line_height


def _fit(
    prompt: str, width: float, height: float, side: int
) -> tuple[list[str], ImageFont.FreeTypeFont, float]:
    """Return the prompt's lines in the largest font that fits, the font, and a line's height in pixels."""
    text = " ".join(prompt.split())
    for share in _FONT_STEPS:
        font = _font(side * share)
        line_height = font.size * 1.28
        lines = _wrap(text, font, width)
        room = max(1, min(_MAX_LINES, int(height / line_height)))
        if len(lines) <= room:
            return lines, font, line_height
    lines = lines[:room]
    last = lines[-1]
    while last and font.getlength(last + "…") > width:
        last = last[:-1]
    lines[-1] = last.rstrip() + "…"
    return lines, font, line_height


def _font(size: float) -> ImageFont.FreeTypeFont:
    """Return the font that comes with Pillow, in a size in pixels."""
    return cast(ImageFont.FreeTypeFont, ImageFont.load_default(max(_MIN_FONT, size)))


def _wrap(text: str, font: ImageFont.FreeTypeFont, width: float) -> list[str]:
    lines = [""]
    for word in text.split(" "):
        longer = f"{lines[-1]} {word}".strip()
        if not lines[-1] or font.getlength(longer) <= width:
            lines[-1] = longer
        else:
            lines.append(word)
    return lines


def _draw_watermark(picture: Pillow.Image) -> None:
    draw = ImageDraw.Draw(picture)
    width, height = picture.size
    font = _font(max(width, height) * 0.024)
    pad = font.size * 0.5
    length = font.getlength(WATERMARK)
    right, top = width - pad, pad
    draw.rounded_rectangle(
        (right - length - 2 * pad, top, right, top + font.size * 1.7),
        radius=font.size * 0.8,
        fill=(60, 62, 70),
    )
    draw.text((right - length - pad, top + font.size * 0.27), WATERMARK, font=font, fill=WHITE)


def _palette_of(reference: Pillow.Image) -> Palette:
    """Return a palette with the colours of an image: of its top, its middle, and the band above its caption."""
    small = reference.resize((8, 10), Pillow.Resampling.BOX)

    def row(number: int) -> tuple[int, int, int]:
        pixels = [small.getpixel((x, number)) for x in range(8)]
        r, g, b = (round(sum(pixel[k] for pixel in pixels) / 8) for k in range(3))  # type: ignore[index, misc]
        return r, g, b

    closest = min(
        PALETTES, key=lambda palette: sum(abs(a - b) for a, b in zip(palette.sky[0], row(0), strict=True))
    )
    return Palette((row(0), row(3)), row(7), row(1), row(7), closest.clothes)


def _seed_from_prompt(prompt: str) -> int:
    digest = hashlib.sha256(prompt.encode("utf-8", "surrogatepass")).digest()
    return int.from_bytes(digest[:4], "big") % (MAX_SEED + 1)
