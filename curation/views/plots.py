"""A plot of values over values: numbers in, attributes of SVG shapes out; ``curation/_plot.html`` draws it.

Across, every place is a percentage of the drawing's width, so that a drawing is as wide as its place on the page
while its letters keep their size. Downwards it is pixels. Curves lie in a box of ``WIDTH`` by the plot's height that
is stretched to the width.
"""

import math
from collections.abc import Callable, Iterable, Sequence
from dataclasses import dataclass, replace

from curation.evaluation.measures import COMPARISON, P_AT_1, Measure
from validation.domain.reports.plots import apart, decimals, percent, pixels, round_up

ROOM = 0.04  # of an axis, left empty at either end
TOP, WIDTH = 14.0, 1000.0  # pixels above a plot, units across
SCATTER_HEIGHT = 240
LETTER, LINE = 6.4, 15.0  # width and height of a letter of names, pixels
LONGEST_NAME = 24
Place = tuple[float, float]
Measured = tuple[float, float | None, float | None]
"""A value and the ends of its interval, if it has one."""
Tick = tuple[str, str]
"""A place and its words."""


@dataclass(frozen=True, slots=True)
class Axis:
    """A line of numbers from low to high, or from high to low; logarithmic ones have only positive numbers."""

    low: float
    high: float
    is_log: bool = False

    def at(self, value: float) -> float:
        """Return where a value lies, 0 to 100; what is beyond an end lies on it."""
        low, high, value = (math.log(x) if self.is_log else x for x in (self.low, self.high, value))
        return 100 * min(1.0, max(0.0, (value - low) / (high - low)))

    def x(self, value: float) -> str:
        """Return where a value lies, as SVG writes it."""
        return percent(self.at(value))

    def values(self, wanted: int = 5, *, least: float = 0.0) -> tuple[list[float], int]:
        """Return about so many round numbers on the axis, ``least`` apart, and the decimals that tell them apart."""
        low, high = sorted((self.low, self.high))
        step = max(least, round_up((high - low) / wanted, factors=(1, 2, 5)))
        first, last = math.ceil(low / step - 1e-9), math.floor(high / step + 1e-9)
        return [at * step for at in range(first, last + 1)], max(0, -math.floor(math.log10(step) + 1e-9))

    def ticks(self) -> list[Tick]:
        """Return round numbers on the axis, each with its place."""
        values, places = self.values()
        return [(self.x(value), decimals(value, places)) for value in values]


def axis_over(values: Iterable[float], *, least_span: float = 4.0) -> Axis:
    """Return an axis with room for all values and round numbers near its ends."""
    found = [value for value in values if math.isfinite(value)]
    low, high = (min(found), max(found)) if found else (0.0, 1.0)
    middle, half = (low + high) / 2, max(high - low, least_span) / 2 * (1 + 2 * ROOM)
    return Axis(middle - half, middle + half)


@dataclass(frozen=True, slots=True)
class Name:
    """Words beside a point; ``anchor`` is ``s`` for their start there, ``m`` for the middle and ``e`` for the end."""

    words: str
    dx: int
    dy: int
    anchor: str


@dataclass(frozen=True, slots=True)
class Point:
    """A dot; ``low`` and ``high`` are the ends of its whisker downwards, ``left`` and ``right`` of that across."""

    kind: str
    x: str
    y: str
    words: str
    low: str = ""
    high: str = ""
    left: str = ""
    right: str = ""
    url: str = ""
    name: Name | None = None


@dataclass(frozen=True, slots=True)
class Path:
    """A curve; ``kind`` is a class in CSS, as a point's is."""

    kind: str
    shape: str


@dataclass(frozen=True, slots=True)
class Frame:
    """Two axes, and the height in pixels between the ends of the one upwards."""

    across: Axis
    up: Axis
    height: int

    def y(self, value: float) -> float:
        """Return where a value lies downwards, in pixels."""
        return TOP + self.height * (1 - self.up.at(value) / 100)

    def point(self, x: Measured, y: Measured, words: str, *, kind: str = "", url: str = "") -> Point:
        """Return the dot of a pair of figures, with whiskers where they have intervals."""
        (low, high), (left, right) = _ends(y, lambda value: pixels(self.y(value))), _ends(x, self.across.x)
        return Point(kind, self.across.x(x[0]), pixels(self.y(y[0])), words, low, high, left, right, url)

    def path(self, kind: str, places: Iterable[Place]) -> Path:
        """Return a curve through pairs of values."""
        drawn = [(WIDTH * self.across.at(x) / 100, self.y(y) - TOP) for x, y in places]
        if len(drawn) == 1:  # a line of no length would not be seen
            drawn.append((drawn[0][0] + 1, drawn[0][1]))
        return Path(kind, "M" + "L".join(f"{x:.1f} {y:.1f}" for x, y in drawn))

    def y_ticks(self, wanted: int = 5, words: Callable[[float], str] | None = None) -> list[Tick]:
        """Return round numbers of the axis upwards; ``words`` writes one."""
        values, places = self.up.values(wanted)
        return [(pixels(self.y(one)), words(one) if words else decimals(one, places)) for one in values]

    def ends(self, lines: Sequence[tuple[float, str]]) -> list[Tick]:
        """Return what stands right of lines across at values, moved apart where they are close."""
        kept = apart([self.y(value) for value, _ in lines], top=TOP, bottom=TOP + self.height)
        return [(pixels(y), words) for y, (_, words) in zip(kept, lines, strict=True)]

    @property
    def base(self) -> str:
        """The lower end of the plot."""
        return pixels(TOP + self.height)

    @property
    def foot(self) -> str:
        """Where the words below the plot stand."""
        return pixels(TOP + self.height + 18)


def _ends(figure: Measured, write: Callable[[float], str]) -> tuple[str, str]:
    _, low, high = figure
    return ("", "") if low is None or high is None else (write(low), write(high))


@dataclass(frozen=True, slots=True)
class Plot:
    """Everything that the template draws: marks, ``lines`` across at heights, words at their right ends.

    ``along`` and ``upwards`` name the axes where the page does not; ``note`` is what the page says of the plot.
    """

    frame: Frame
    summary: str
    x_ticks: Sequence[Tick]
    y_ticks: Sequence[Tick]
    title: str = ""
    note: str = ""
    along: str = ""
    upwards: str = ""
    paths: Sequence[Path] = ()
    points: Sequence[Point] = ()
    lines: Sequence[str] = ()
    ends: Sequence[Tick] = ()

    @property
    def bottom(self) -> str:
        """The height of the whole drawing, with what stands below the plot."""
        return pixels(TOP + self.frame.height + (42 if self.along else 26))


@dataclass(frozen=True, slots=True)
class Model:
    """One model of a scatter: its figures, the words of its dot, and the name beside it, if it is to have one."""

    p_at_1: Measured
    agreement: Measured
    words: str
    name: str = ""
    kind: str = ""
    url: str = ""


def draw_scatter(
    models: Sequence[Model],
    *,
    lines: Sequence[tuple[float, str]] = (),
    narrowest: float,
    summary: str,
    note: str = "",
) -> Plot:
    """Return agreement with people over P@1, a dot a model: figure 6 of paper 000, doi:10.1007/978-3-031-20059-5_32.

    Args:
        narrowest: pixels across at which no name may lie on another yet. lines: values of the agreement that are
            drawn across, and the words at their ends.
    """
    frame = Frame(
        axis_over([value for one in models for value in one.p_at_1 if value is not None]),
        axis_over(
            [value for one in models for value in one.agreement if value is not None] + [v for v, _ in lines]
        ),
        SCATTER_HEIGHT,
    )
    points = [frame.point(one.p_at_1, one.agreement, one.words, kind=one.kind, url=one.url) for one in models]
    places = [(narrowest * frame.across.at(one.p_at_1[0]) / 100, frame.y(one.agreement[0])) for one in models]
    names = _names(
        list(zip(places, [one.name for one in models], strict=True)), (narrowest, TOP + frame.height)
    )
    return Plot(
        frame=frame,
        summary=summary,
        x_ticks=frame.across.ticks(),
        y_ticks=frame.y_ticks(),
        note=note,
        along=axis_words(P_AT_1),
        upwards=axis_words(COMPARISON),
        points=[replace(point, name=name) for point, name in zip(points, names, strict=True)],
        lines=[pixels(frame.y(value)) for value, _ in lines],
        ends=frame.ends(lines),
    )


def axis_words(measure: Measure) -> str:
    """Return what stands at the axis of a measure."""
    return f"{measure.title} ({measure.axis})"


Box = tuple[float, float, float, float]
_SIDES = (("s", 10, 4), ("e", -10, 4), ("m", 0, -9), ("m", 0, 17))


def _names(dots: Sequence[tuple[Place, str]], end: Place) -> list[Name | None]:
    """Return names beside their dots, where no other words and no dot are yet; the first ones choose first."""
    taken: list[Box] = [(0.0, 0.0, LETTER * len(axis_words(COMPARISON)), TOP)]
    taken += [(x - 5, y - 5, x + 5, y + 5) for (x, y), _ in dots]
    names: list[Name | None] = []
    for (x, y), name in dots:
        words = name if len(name) <= LONGEST_NAME else f"{name[: LONGEST_NAME - 1]}…"
        sides = [
            (_box(x + dx, y + dy, words, anchor), Name(words, dx, dy, anchor)) for anchor, dx, dy in _SIDES
        ]
        free = [
            (box, one)
            for box, one in sides
            if words and box[0] >= 0 and box[1] >= 0 and box[2] <= end[0] and box[3] <= end[1]
            if not any(_meet(box, other) for other in taken)
        ]
        taken += [box for box, _ in free[:1]]
        names.append(free[0][1] if free else None)
    return names


def _box(x: float, y: float, words: str, anchor: str) -> Box:
    """Return the box of words whose base line is at ``y``."""
    wide = LETTER * len(words)
    left = x - {"s": 0.0, "m": wide / 2, "e": wide}[anchor]
    return left, y - 4 - LINE / 2, left + wide, y - 4 + LINE / 2


def _meet(one: Box, other: Box) -> bool:
    return one[0] < other[2] and other[0] < one[2] and one[1] < other[3] and other[1] < one[3]
