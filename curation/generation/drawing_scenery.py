"""The scenery of test drawings: a room or the open air, by the words of the prompt."""

import re
from dataclasses import dataclass

from PIL import Image as Pillow
from PIL import ImageDraw

from curation.generation.drawing_canvas import (
    BLACK,
    WHITE,
    Colour,
    Frame,
    HashNumbers,
    Palette,
    mix,
    vertical_gradient,
)
from curation.generation.drawing_objects import BUILDING, TREE

_INDOORS_PATTERN = re.compile(
    r"\b(kitchen|room|bedroom|office|class\w*|school|hospital|store|shop|restaurant|cafe|bed|sofa|table|desk|indoors?|"
    r"library|bathroom|stage|church|museum|station|gym|floor|window|lamp|shelf|computer|laptop|exam|home)\b"
)
_OUTDOORS_PATTERN = re.compile(
    r"\b(street|road|park|garden|beach|sea|forest|field|mountain\w*|outdoors?|outside|tree|sky|rain\w*|snow\w*|sun\w*|"
    r"farm|yard|lake|river|bus|car|bicycle|football|grass|city|bridge)\b"
)
_NIGHT_PATTERN = re.compile(r"\b(night|dark|evening|moon|stars?|asleep|midnight|candle\w*)\b")
_RAIN_PATTERN = re.compile(r"\b(rain\w*|umbrella|storm\w*|wet|puddles?|flood\w*|drench\w*|soak\w*)\b")
_SNOW_PATTERN = re.compile(r"\b(snow\w*|ice|icy|winter|ski\w*|sled\w*|freez\w*|cold)\b")
_CITY_PATTERN = re.compile(r"\b(street|road|city|bus|car|taxi|shop|traffic|town|building\w*)\b")
_SHORE_PATTERN = re.compile(r"\b(beach|sea|shore|ocean|lake|river|sail\w*|swim\w*)\b")
_SUNSET_PATTERN = re.compile(r"\b(sunset|dusk|sunrise|dawn)\b")
_NIGHT_SKY: tuple[Colour, Colour] = ((34, 42, 84), (92, 96, 142))
_GREY_SKY: tuple[Colour, Colour] = ((140, 152, 166), (204, 210, 214))
_RAIN_COLOUR: Colour = (226, 236, 246)
_SUNSET_SKY: tuple[Colour, Colour] = ((246, 168, 112), (252, 222, 178))
_WATER: Colour = (92, 150, 190)
_SAND: Colour = (232, 212, 168)
_CLOUDS, _BUILDINGS = 3, 0.75  # how many; their share on a street, beside trees
_HORIZON = 0.62  # of the picture's height
_FLOOR = 0.7


@dataclass(frozen=True)
class Scenery:
    """Where a drawing plays. weather: rain, snow, or empty."""

    is_indoors: bool
    is_night: bool
    is_city: bool
    weather: str
    has_water: bool = False
    is_sunset: bool = False

    def draw_weather(self, picture: Pillow.Image, numbers: HashNumbers) -> None:
        """Draw rain or snow over everything else; indoors it falls behind the window alone."""
        if self.is_indoors:
            return
        draw = ImageDraw.Draw(picture)
        width, height = picture.size
        side = max(width, height)
        for number in range(90):
            x, y = numbers.share(f"x {number}") * width, numbers.share(f"y {number}") * height
            if self.weather == "rain":
                fall = side * 0.03
                draw.line((x, y, x - fall * 0.3, y + fall), fill=_RAIN_COLOUR, width=max(1, side // 420))
            else:
                r = side * numbers.between(f"r {number}", 0.002, 0.006)
                draw.ellipse((x - r, y - r, x + r, y + r), fill=WHITE)


def find_scenery(words: str, numbers: HashNumbers) -> Scenery:
    """Return the scenery that a text in small letters names; where it names none, the numbers decide."""
    indoors, outdoors = len(_INDOORS_PATTERN.findall(words)), len(_OUTDOORS_PATTERN.findall(words))
    is_indoors = indoors > outdoors if indoors != outdoors else numbers.pick("indoors", 2) == 0
    weather = "rain" if _RAIN_PATTERN.search(words) else "snow" if _SNOW_PATTERN.search(words) else ""
    is_city = bool(_CITY_PATTERN.search(words)) or numbers.pick("city", 3) == 0
    is_night, is_sunset = bool(_NIGHT_PATTERN.search(words)), bool(_SUNSET_PATTERN.search(words))
    return Scenery(is_indoors, is_night, is_city, weather, bool(_SHORE_PATTERN.search(words)), is_sunset)


def draw_scenery(picture: Pillow.Image, scenery: Scenery, palette: Palette, numbers: HashNumbers) -> None:
    """Fill a picture with its scenery."""
    if scenery.is_indoors:
        _draw_room(picture, scenery, palette, numbers)
    else:
        _draw_open_air(picture, scenery, palette, numbers)


def _sky(scenery: Scenery, palette: Palette) -> tuple[Colour, Colour]:
    if scenery.is_night:
        return _NIGHT_SKY
    if scenery.weather:
        return _GREY_SKY
    return _SUNSET_SKY if scenery.is_sunset else palette.sky


def _draw_room(picture: Pillow.Image, scenery: Scenery, palette: Palette, numbers: HashNumbers) -> None:
    width, height = picture.size
    wall = mix(palette.wall, (70, 64, 92), 0.45) if scenery.is_night else palette.wall
    floor = mix(palette.floor, BLACK, 0.3) if scenery.is_night else palette.floor
    horizon = round(height * _FLOOR)
    picture.paste(vertical_gradient((width, horizon), mix(wall, WHITE, 0.25), wall), (0, 0))
    picture.paste(vertical_gradient((width, height - horizon), mix(floor, BLACK, 0.12), floor), (0, horizon))
    draw = ImageDraw.Draw(picture)
    draw.rectangle((0, horizon - height * 0.025, width, horizon), fill=mix(wall, WHITE, 0.6))
    for number in range(1, 5):
        y = horizon + (height - horizon) * (number / 5) ** 1.5
        draw.line((0, y, width, y), fill=mix(floor, BLACK, 0.2), width=max(1, height // 300))
    _draw_window(picture, scenery, palette, numbers)
    _draw_wall_picture(draw, (width, height), palette, numbers)


def _draw_window(picture: Pillow.Image, scenery: Scenery, palette: Palette, numbers: HashNumbers) -> None:
    width, height = picture.size
    left = round(width * (0.1 + 0.42 * numbers.pick("window", 2)))
    top, wide, high = round(height * 0.12), round(width * 0.3), round(height * 0.34)
    view = vertical_gradient((wide, high), *_sky(scenery, palette))
    view_draw = ImageDraw.Draw(view)
    view_draw.ellipse(
        (-wide * 0.2, high * 0.7, wide * 0.9, high * 1.6), fill=mix(palette.ground, WHITE, 0.15)
    )
    if scenery.weather:
        Scenery(False, False, False, scenery.weather).draw_weather(view, numbers)
    picture.paste(view, (left, top))
    draw = ImageDraw.Draw(picture)
    bar = max(3, width // 90)
    draw.rectangle((left, top, left + wide, top + high), outline=WHITE, width=bar)
    draw.line((left + wide / 2, top, left + wide / 2, top + high), fill=WHITE, width=bar)
    draw.line((left, top + high / 2, left + wide, top + high / 2), fill=WHITE, width=bar)
    draw.rectangle(
        (left - bar * 2, top + high, left + wide + bar * 2, top + high + bar * 2),
        fill=mix(WHITE, BLACK, 0.12),
    )


def _draw_wall_picture(
    draw: ImageDraw.ImageDraw, size: tuple[int, int], palette: Palette, numbers: HashNumbers
) -> None:
    width, height = size
    x = width * (0.78 - 0.62 * numbers.pick("window", 2))
    frame = Frame(draw, (x, height * 0.44), height * 0.2)
    colour = palette.clothes[numbers.pick("wall picture", len(palette.clothes))]
    frame.box(-0.62, 0, 0.62, 1, mix(colour, BLACK, 0.35))
    frame.box(-0.54, 0.08, 0.54, 0.92, mix(colour, WHITE, 0.7))
    frame.polygon([(-0.5, 0.1), (-0.1, 0.6), (0.12, 0.34), (0.3, 0.5), (0.52, 0.1)], mix(colour, WHITE, 0.3))


def _draw_open_air(picture: Pillow.Image, scenery: Scenery, palette: Palette, numbers: HashNumbers) -> None:
    width, height = picture.size
    top, bottom = _sky(scenery, palette)
    ground = (236, 240, 244) if scenery.weather == "snow" else palette.ground
    if scenery.is_night:
        ground = mix(ground, (26, 30, 60), 0.5)
    horizon = round(height * _HORIZON)
    picture.paste(vertical_gradient((width, horizon), top, bottom), (0, 0))
    draw = ImageDraw.Draw(picture)
    _draw_sky_lights(draw, (width, height), scenery, numbers)
    for number in range(3):
        x = width * numbers.between(f"hill {number}", -0.2, 0.9)
        wide, high = (
            width * numbers.between(f"wide {number}", 0.5, 0.9),
            height * numbers.between(f"high {number}", 0.08, 0.2),
        )
        draw.ellipse(
            (x, horizon - high, x + wide, horizon + high), fill=mix(ground, bottom, 0.5 - number * 0.12)
        )
    near, far = mix(ground, BLACK, 0.12), mix(ground, WHITE, 0.12)
    picture.paste(vertical_gradient((width, height - horizon), far, near), (0, horizon))
    if scenery.has_water:
        _draw_shore(picture, horizon, top)
        return
    _draw_backdrop(draw, (width, height), scenery, palette, numbers)
    if scenery.is_city:
        street = mix((120, 122, 128), top, 0.15)
        draw.rectangle((0, height * 0.78, width, height), fill=street)
        draw.rectangle((0, height * 0.765, width, height * 0.785), fill=mix(street, WHITE, 0.5))


def _draw_shore(picture: Pillow.Image, horizon: int, sky: Colour) -> None:
    width, height = picture.size
    shore = horizon + round(height * 0.13)
    picture.paste(vertical_gradient((width, shore - horizon), mix(_WATER, sky, 0.4), _WATER), (0, horizon))
    picture.paste(vertical_gradient((width, height - shore), _SAND, mix(_SAND, BLACK, 0.12)), (0, shore))


def _draw_sky_lights(
    draw: ImageDraw.ImageDraw, size: tuple[int, int], scenery: Scenery, numbers: HashNumbers
) -> None:
    width, height = size
    x, y, r = width * numbers.between("sun", 0.12, 0.6), height * 0.16, height * 0.06
    if scenery.is_night:
        for number in range(40):
            sx, sy = numbers.share(f"star {number}") * width, numbers.share(f"up {number}") * height * 0.5
            star = max(1, height // 400)
            draw.ellipse((sx - star, sy - star, sx + star, sy + star), fill=(240, 240, 220))
        draw.ellipse((x - r, y - r, x + r, y + r), fill=(246, 242, 214))
        return
    if not scenery.weather:
        draw.ellipse((x - r, y - r, x + r, y + r), fill=(255, 226, 130))
    for number in range(_CLOUDS):
        cx = width * (number + numbers.between(f"cloud {number}", 0.2, 0.8)) / _CLOUDS
        cy = height * numbers.between(f"y {number}", 0.08, 0.3)
        cloud = (220, 224, 228) if scenery.weather else (252, 253, 254)
        for shift, share in ((-1.1, 0.7), (0.0, 1.0), (1.1, 0.75)):
            puff, middle = height * 0.035 * share, cx + shift * height * 0.035
            draw.ellipse((middle - puff * 1.4, cy - puff, middle + puff * 1.4, cy + puff), fill=cloud)


def _draw_backdrop(
    draw: ImageDraw.ImageDraw, size: tuple[int, int], scenery: Scenery, palette: Palette, numbers: HashNumbers
) -> None:
    """Draw houses or trees along the horizon."""
    width, height = size
    count = 4
    for number in range(count):
        x = width * (number + numbers.between(f"at {number}", 0.25, 0.75)) / count
        colour = palette.clothes[numbers.pick(f"backdrop {number}", len(palette.clothes))]
        is_building = scenery.is_city and numbers.share(f"house {number}") < _BUILDINGS
        tall = height * numbers.between(f"tall {number}", 0.2, 0.3)
        frame = Frame(draw, (x, height * (_HORIZON + 0.03)), tall)
        paint = BUILDING if is_building else TREE
        paint(frame, mix(colour, (40, 44, 80), 0.45) if scenery.is_night else colour)
