"""What a chart consists of, and the plane that turns values into positions."""

from collections.abc import Callable, Iterable, Sequence
from dataclasses import dataclass

from hits.charts.scale import Scale, decimals, pixels, spread_labels

TOP, WIDTH = 14.0, 1000.0  # pixels above a plane; units across of its curves
BELOW, BELOW_WITH_LABEL = 26, 42  # pixels for ticks, and for ticks and the axis' label
STRIP_HEIGHT = 20  # pixels
Point = tuple[float, float]
Measured = tuple[float, float | None, float | None]
"""A value and the ends of its interval, if it has one."""


@dataclass(frozen=True, slots=True)
class Tick:
    """A number on an axis. Narrow screens leave out the minor ones."""

    position: str
    text: str
    kind: str = ""


@dataclass(frozen=True, slots=True)
class Bar:
    """A rectangle; ``title`` says what it stands for, ``kind`` is a class in CSS."""

    x: str
    y: str
    width: str
    height: str
    title: str = ""
    kind: str = ""


@dataclass(frozen=True, slots=True)
class Curve:
    """A line, or an area, in a box of ``WIDTH`` by the plane's height."""

    kind: str
    shape: str
    title: str = ""


@dataclass(frozen=True, slots=True)
class Name:
    """Text beside a dot. ``anchor`` is ``start``, ``middle`` or ``end``."""

    text: str
    dx: int
    dy: int
    anchor: str


@dataclass(frozen=True, slots=True)
class Dot:
    """A dot; ``low`` and ``high`` are the ends of its whisker downwards, ``left`` and ``right`` of that across."""

    kind: str
    x: str
    y: str
    title: str
    low: str = ""
    high: str = ""
    left: str = ""
    right: str = ""
    url: str = ""
    name: Name | None = None


@dataclass(frozen=True, slots=True)
class Rule:
    """A reference line: upright at ``x`` from ``top`` down, or across at ``y``."""

    x: str = ""
    y: str = ""
    top: str = "0"
    kind: str = "target"


@dataclass(frozen=True, slots=True)
class Label:
    """Text in a chart."""

    x: str
    y: str
    text: str
    anchor: str = "start"
    dx: int = 0
    kind: str = ""


@dataclass(frozen=True, slots=True)
class Table:
    """The chart's figures, for those who read rather than look."""

    headings: Sequence[str]
    rows: Sequence[Sequence[str]]

    @property
    def labelled_rows(self) -> list[list[tuple[str, str]]]:
        """Each cell with its heading: a narrow window shows a row as a list of both."""
        return [list(zip(self.headings, row, strict=True)) for row in self.rows]


@dataclass(frozen=True, slots=True)
class Chart:
    """Everything that the template draws. ``legend`` is (kind, text) of what a colour stands for."""

    summary: str
    height: int  # of the plane, in pixels
    title: str = ""
    note: str = ""
    kind: str = ""
    x_label: str = ""
    y_label: str = ""
    x_ticks: Sequence[Tick] = ()
    y_ticks: Sequence[Tick] = ()
    has_base: bool = True
    bars: Sequence[Bar] = ()
    curves: Sequence[Curve] = ()
    dots: Sequence[Dot] = ()
    rules: Sequence[Rule] = ()
    labels: Sequence[Label] = ()
    legend: Sequence[tuple[str, str]] = ()
    table: Table | None = None
    is_strip: bool = False  # a line within a table's row: no axes, no table

    @property
    def base(self) -> str:
        """The lower end of the plane."""
        return pixels(self.top + self.height)

    @property
    def top(self) -> float:
        """The upper end of the plane, in pixels."""
        return 0.0 if self.is_strip else TOP

    @property
    def tick_y(self) -> str:
        """Where the text of ticks across stands."""
        return pixels(self.height - 4 if self.is_strip else TOP + self.height + 18)

    @property
    def full_height(self) -> str:
        """The height of the whole drawing in pixels, with what stands below the plane."""
        below = 0 if self.is_strip else BELOW_WITH_LABEL if self.x_label else BELOW
        return pixels(self.top + self.height + below)


@dataclass(frozen=True, slots=True)
class Plane:
    """Two scales, and the height in pixels between the ends of the one upwards."""

    across: Scale
    up: Scale
    height: int
    top: float = TOP

    def y(self, value: float) -> float:
        """Return where a value lies downwards, in pixels."""
        return self.top + self.height * (1 - self.up.position(value) / 100)

    def dot(self, x: Measured, y: Measured, title: str, *, kind: str = "", url: str = "") -> Dot:
        """Return the dot of a pair of figures, with whiskers where they have intervals."""
        (low, high), (left, right) = _ends(y, lambda value: pixels(self.y(value))), _ends(x, self.across.x)
        return Dot(kind, self.across.x(x[0]), pixels(self.y(y[0])), title, low, high, left, right, url)

    def curve(self, kind: str, points: Iterable[Point], title: str = "") -> Curve:
        """Return a curve through pairs of values."""
        drawn = [(WIDTH * self.across.position(x) / 100, self.y(y) - self.top) for x, y in points]
        if len(drawn) == 1:  # a line of no length would not be seen
            drawn.append((drawn[0][0] + 1, drawn[0][1]))
        return Curve(kind, "M" + "L".join(f"{x:.1f} {y:.1f}" for x, y in drawn), title)

    def bar(self, left: float, right: float, value: float, title: str, *, kind: str = "") -> Bar:
        """Return the bar of ``value`` between two values of the scale across, with a little room beside it."""
        room = 0.06 * (right - left)
        y = self.y(value)
        return Bar(
            x=self.across.x(left + room),
            y=pixels(y),
            width=self.across.width(left + room, right - room),
            height=pixels(self.top + self.height - y),
            title=title,
            kind=kind,
        )

    def x_ticks(
        self, count: int = 5, *, min_step: float = 0.0, text: Callable[[float], str] | None = None
    ) -> list[Tick]:
        """Return round numbers of the scale across; ``text`` writes one."""
        values, places = self.across.round_values(count, min_step=min_step)
        return [Tick(self.across.x(one), text(one) if text else decimals(one, places)) for one in values]

    def y_ticks(self, count: int = 5, text: Callable[[float], str] | None = None) -> list[Tick]:
        """Return round numbers of the scale upwards; ``text`` writes one."""
        values, places = self.up.round_values(count)
        return [Tick(pixels(self.y(one)), text(one) if text else decimals(one, places)) for one in values]

    def quarter_ticks(self, text: Callable[[float], str]) -> list[Tick]:
        """Return the ends and quarters of the scale upwards."""
        values = [self.up.low + (self.up.high - self.up.low) * index / 4 for index in range(5)]
        return [Tick(pixels(self.y(one)), text(one)) for one in values]

    def end_labels(self, lines: Sequence[tuple[float, str]], *, strong: int | None = 0) -> list[Label]:
        """Return what stands right of lines that end at values, moved apart where they are close."""
        heights = spread_labels(
            [self.y(value) for value, _ in lines], top=self.top, bottom=self.top + self.height
        )
        return [
            Label("100%", pixels(y), text, dx=8, kind="strong" if index == strong else "")
            for index, (y, (_, text)) in enumerate(zip(heights, lines, strict=True))
        ]


def _ends(figure: Measured, write: Callable[[float], str]) -> tuple[str, str]:
    _, low, high = figure
    return ("", "") if low is None or high is None else (write(low), write(high))
