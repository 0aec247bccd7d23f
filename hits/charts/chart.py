"""The elements of a chart, and the plot area that turns values into positions."""

from collections.abc import Callable, Iterable, Sequence
from dataclasses import dataclass

from hits.charts.scale import Scale, decimal_text, spread_label_positions, svg_pixels

TOP, WIDTH = 14.0, 1000.0  # pixels above a plot area; width of the SVG view box of curves
BELOW, BELOW_WITH_LABEL = 26, 42  # pixels below it: for ticks, and for ticks with an axis label
STRIP_HEIGHT = 20  # pixels
Point = tuple[float, float]
ValueWithInterval = tuple[float, float | None, float | None]
"""A value and the ends of its interval; ``None`` without an interval."""


@dataclass(frozen=True, slots=True)
class Tick:
    """A number on an axis. Narrow screens leave out the minor ones."""

    position: str
    text: str
    kind: str = ""


@dataclass(frozen=True, slots=True)
class Bar:
    """A rectangle; ``title`` is its tooltip, ``kind`` its CSS class."""

    x: str
    y: str
    width: str
    height: str
    title: str = ""
    kind: str = ""


@dataclass(frozen=True, slots=True)
class Curve:
    """An SVG path (``shape``) in a view box of ``WIDTH`` by the plot area's height."""

    kind: str
    shape: str
    title: str = ""


@dataclass(frozen=True, slots=True)
class DotName:
    """Text beside a dot. ``anchor`` is ``start``, ``middle`` or ``end``."""

    text: str
    dx: int
    dy: int
    anchor: str


@dataclass(frozen=True, slots=True)
class Dot:
    """A dot; the ``y_`` and ``x_`` fields are the ends of its vertical and horizontal error bars, or empty."""

    kind: str
    x: str
    y: str
    title: str
    y_low: str = ""
    y_high: str = ""
    x_low: str = ""
    x_high: str = ""
    url: str = ""
    name: DotName | None = None


@dataclass(frozen=True, slots=True)
class ReferenceLine:
    """A vertical line at ``x`` from ``top`` down, or a horizontal line at ``y``."""

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
    """The chart's figures as a table, for screen readers and for exact values."""

    headings: Sequence[str]
    rows: Sequence[Sequence[str]]

    @property
    def labelled_rows(self) -> list[list[tuple[str, str]]]:
        """Each cell with its heading, because a narrow window shows a row as a list of headings and values."""
        return [list(zip(self.headings, row, strict=True)) for row in self.rows]


@dataclass(frozen=True, slots=True)
class Chart:
    """Everything that the template draws. ``legend`` has the CSS class and the meaning of each colour."""

    summary: str
    height: int  # of the plot area, in pixels
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
    reference_lines: Sequence[ReferenceLine] = ()
    labels: Sequence[Label] = ()
    legend: Sequence[tuple[str, str]] = ()
    table: Table | None = None
    is_strip: bool = False  # one line in a table row, without axes and table

    @property
    def plot_bottom(self) -> str:
        """The lower edge of the plot area, in pixels."""
        return svg_pixels(self.plot_top + self.height)

    @property
    def plot_top(self) -> float:
        """The upper edge of the plot area, in pixels."""
        return 0.0 if self.is_strip else TOP

    @property
    def tick_y(self) -> str:
        """The vertical position of the x axis's tick texts."""
        return svg_pixels(self.height - 4 if self.is_strip else TOP + self.height + 18)

    @property
    def full_height(self) -> str:
        """The height of the whole drawing in pixels, with the ticks and the label below the plot area."""
        below = 0 if self.is_strip else BELOW_WITH_LABEL if self.x_label else BELOW
        return svg_pixels(self.plot_top + self.height + below)


@dataclass(frozen=True, slots=True)
class PlotArea:
    """The scales of both axes; ``height`` and ``top`` place the y axis, in pixels."""

    x_scale: Scale
    y_scale: Scale
    height: int
    top: float = TOP

    def y(self, value: float) -> float:
        """Return the vertical position of a value, in pixels from the top."""
        return self.top + self.height * (1 - self.y_scale.position(value) / 100)

    def dot(
        self, x: ValueWithInterval, y: ValueWithInterval, title: str, *, kind: str = "", url: str = ""
    ) -> Dot:
        """Return the dot of two values, with an error bar for each that has an interval."""
        y_low, y_high = _interval_ends(y, lambda value: svg_pixels(self.y(value)))
        x_low, x_high = _interval_ends(x, self.x_scale.x)
        x_text, y_text = self.x_scale.x(x[0]), svg_pixels(self.y(y[0]))
        return Dot(kind, x_text, y_text, title, y_low, y_high, x_low, x_high, url)

    def curve(self, kind: str, points: Iterable[Point]) -> Curve:
        """Return a curve through pairs of values."""
        drawn = [(WIDTH * self.x_scale.position(x) / 100, self.y(y) - self.top) for x, y in points]
        if len(drawn) == 1:  # a line without length would be invisible
            drawn.append((drawn[0][0] + 1, drawn[0][1]))
        return Curve(kind, "M" + "L".join(f"{x:.1f} {y:.1f}" for x, y in drawn))

    def bar(self, left: float, right: float, value: float, title: str, *, kind: str = "") -> Bar:
        """Return the bar of ``value`` between two values of the x axis, with a gap on each side."""
        gap = 0.06 * (right - left)
        y = self.y(value)
        return Bar(
            x=self.x_scale.x(left + gap),
            y=svg_pixels(y),
            width=self.x_scale.width(left + gap, right - gap),
            height=svg_pixels(self.top + self.height - y),
            title=title,
            kind=kind,
        )

    def x_ticks(
        self, count: int = 5, *, min_step: float = 0.0, format_value: Callable[[float], str] | None = None
    ) -> list[Tick]:
        """Return ticks at round numbers of the x axis; ``format_value`` gives the text of a tick."""
        values, places = self.x_scale.round_tick_values(count, min_step=min_step)
        write = format_value or (lambda value: decimal_text(value, places))
        return [Tick(self.x_scale.x(value), write(value)) for value in values]

    def y_ticks(self, count: int = 5, format_value: Callable[[float], str] | None = None) -> list[Tick]:
        """Return ticks at round numbers of the y axis, as ``x_ticks``."""
        values, places = self.y_scale.round_tick_values(count)
        write = format_value or (lambda value: decimal_text(value, places))
        return [Tick(svg_pixels(self.y(value)), write(value)) for value in values]

    def quarter_ticks(self, format_value: Callable[[float], str]) -> list[Tick]:
        """Return ticks at the ends and quarters of the y axis."""
        values = [self.y_scale.low + (self.y_scale.high - self.y_scale.low) * index / 4 for index in range(5)]
        return [Tick(svg_pixels(self.y(value)), format_value(value)) for value in values]

    def end_labels(self, lines: Sequence[tuple[float, str]], *, strong_index: int | None = 0) -> list[Label]:
        """Return labels to the right of lines, at the lines' last values, moved apart so that none overlap."""
        heights = spread_label_positions(
            [self.y(value) for value, _ in lines], top=self.top, bottom=self.top + self.height
        )
        return [
            Label("100%", svg_pixels(y), text, dx=8, kind="strong" if index == strong_index else "")
            for index, (y, (_, text)) in enumerate(zip(heights, lines, strict=True))
        ]


def _interval_ends(value: ValueWithInterval, write: Callable[[float], str]) -> tuple[str, str]:
    _, low, high = value
    return ("", "") if low is None or high is None else (write(low), write(high))
