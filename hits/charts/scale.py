"""Scales of axes: positions of values, round numbers for ticks, and number formats."""

import math
from collections.abc import Iterable, Sequence
from dataclasses import dataclass

from hits.domain.binning import next_round_number

MARGIN_SHARE = 0.04  # of an axis, left empty at either end
LABEL_HEIGHT = 15.0  # pixels between two labels


@dataclass(frozen=True, slots=True)
class Scale:
    """The range of an axis; ``low`` may exceed ``high``. A logarithmic scale takes positive values only."""

    low: float
    high: float
    is_log: bool = False

    def position(self, value: float) -> float:
        """Return the position of a value, 0 (``low``) to 100 (``high``); values beyond an end are clipped to it."""
        low, high, value = (math.log(x) if self.is_log else x for x in (self.low, self.high, value))
        return 100 * min(1.0, max(0.0, (value - low) / (high - low)))

    def x(self, value: float) -> str:
        """Return the horizontal SVG position of a value, such as ``25.00%``."""
        return svg_percent(self.position(value))

    def width(self, low: float, high: float) -> str:
        """Return the SVG width of the range between two values, such as ``25.00%``."""
        return svg_percent(abs(self.position(high) - self.position(low)))

    def round_tick_values(self, count: int = 5, *, min_step: float = 0.0) -> tuple[list[float], int]:
        """Return about ``count`` round numbers, at least ``min_step`` apart, and their number of decimals."""
        low, high = sorted((self.low, self.high))
        step = max(min_step, next_round_number((high - low) / count, factors=(1, 2, 5)))
        first, last = math.ceil(low / step - 1e-9), math.floor(high / step + 1e-9)
        return [index * step for index in range(first, last + 1)], max(
            0, -math.floor(math.log10(step) + 1e-9)
        )


def scale_over(values: Iterable[float], *, min_span: float = 4.0) -> Scale:
    """Return a scale that contains all values with a margin and spans at least ``min_span``."""
    finite = [value for value in values if math.isfinite(value)]
    low, high = (min(finite), max(finite)) if finite else (0.0, 1.0)
    middle, half = (low + high) / 2, max(high - low, min_span) / 2 * (1 + 2 * MARGIN_SHARE)
    return Scale(middle - half, middle + half)


def scale_with_round_quarters(value: float, *, unit: float = 1.0) -> Scale:
    """Return a scale from 0 that reaches ``value`` and whose quarters are round multiples of ``unit``."""
    step = next_round_number(max(value / 4, unit) / unit, factors=(1, 2, 2.5, 3, 5))
    while step % 1:  # 2.5 units are not a whole number of units
        step = next_round_number(step * 1.01, factors=(1, 2, 3, 5))
    return Scale(0.0, 4 * step * unit)


def spread_label_positions(positions: Sequence[float], *, top: float, bottom: float) -> list[float]:
    """Return the label positions in pixels, in the given order, moved so that no two labels overlap."""
    placed: dict[int, float] = {}
    free = top
    for index in sorted(range(len(positions)), key=lambda index: positions[index]):
        placed[index] = max(positions[index], free)
        free = placed[index] + LABEL_HEIGHT
    too_low = max(0.0, free - LABEL_HEIGHT - bottom)
    return [placed[index] - too_low for index in range(len(positions))]


def decimal_text(number: float, places: int) -> str:
    """Return a number with ``places`` decimals and a real minus: ``−0.12`` for -0.1234 and 2; never ``−0.00``."""
    return f"{number:z.{places}f}".replace("-", "−")


def percent_text(share: float | None) -> str:
    """Return ``31.2%`` for 0.312; a dash for ``None``."""
    return "–" if share is None else f"{100 * share:.1f}%"


def svg_percent(value: float) -> str:
    """Return a horizontal position (0 to 100) as SVG text: ``25.00%``."""
    return f"{value:.2f}%"


def svg_pixels(value: float) -> str:
    """Return a vertical position in pixels as SVG text: ``12.5``."""
    return f"{value:.1f}"
