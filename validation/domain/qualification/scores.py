"""How many applicants reached which score, as bars with the pass line: plain coordinates, drawn by a template."""

from collections.abc import Sequence
from dataclasses import dataclass

LEFT, RIGHT, TOP, BOTTOM = 30.0, 488.0, 22.0, 164.0
GAP = 6.0
_STEPS = (1, 2, 3, 5, 10, 15, 20, 25, 50, 100, 250, 500, 1000)


@dataclass(frozen=True, slots=True)
class Bar:
    """One score's bar in a view of 600 × 190; ``count`` stands above it."""

    score: int
    count: int
    x: str
    middle: str
    y: str
    width: str
    height: str
    label_y: str
    passes: bool


@dataclass(frozen=True, slots=True)
class ScoreChart:
    """Everything that the template draws. ``grid`` are (y, words); the pass line stands at ``line_x``."""

    grid: Sequence[tuple[str, str]]
    bars: Sequence[Bar]
    line_x: str
    line_words: str
    summary: str


def score_chart(counts: Sequence[int], *, needed: int) -> ScoreChart | None:
    """Return the chart of ``counts[score]`` applicants for each score from 0, or ``None`` when nobody has one."""
    if not any(counts):
        return None
    step = next((s for s in _STEPS if 4 * s >= max(counts)), -(-max(counts) // 4))
    slot = (RIGHT - LEFT) / len(counts)

    def y(count: float) -> float:
        return BOTTOM - (BOTTOM - TOP) * count / (4 * step)

    bars = [
        Bar(
            score=score,
            count=count,
            x=_n(LEFT + slot * score + GAP / 2),
            middle=_n(LEFT + slot * (score + 0.5)),
            y=_n(y(count)),
            width=_n(slot - GAP),
            height=_n(BOTTOM - y(count)),
            label_y=_n(y(count) - 5),
            passes=score >= needed,
        )
        for score, count in enumerate(counts)
    ]
    passed = sum(bar.count for bar in bars if bar.passes)
    return ScoreChart(
        grid=[(_n(y(n * step)), str(n * step)) for n in range(5)],
        bars=bars,
        line_x=_n(LEFT + slot * min(needed, len(counts))),
        line_words=f"{needed} needed",
        summary=(
            "Reasonable pairs of each applicant: "
            + ", ".join(f"{bar.count} with {bar.score}" for bar in bars if bar.count)
            + f". {passed} of {sum(counts)} reach {needed}."
        ),
    )


def _n(value: float) -> str:
    return f"{value:.1f}"
