"""Summaries of each worker's last 48 hours, with a text that a researcher can send (Zellers et al. 2019 §B.3)."""

from collections.abc import Sequence
from dataclasses import dataclass
from datetime import UTC, datetime, timedelta
from hashlib import sha256

from hits.domain.money.usd import format_dollars

WINDOW = timedelta(hours=48)
SAMPLE_SIZE = 3
MAX_ADVICE = 5  # pieces of advice in a text
_EPOCH = datetime(2018, 1, 1, tzinfo=UTC)  # windows start at midnight UTC


def window_number(at: datetime) -> int:
    """Return the number of the window that a time is in; windows are 48 hours long and follow one another."""
    return (at - _EPOCH) // WINDOW


def window_bounds(number: int) -> tuple[datetime, datetime]:
    """Return the start of a window and its end, which is not part of it."""
    start = _EPOCH + number * WINDOW
    return start, start + WINDOW


def draw_sample(number: int, ids: Sequence[str]) -> list[str]:
    """Return up to three of a worker's submissions in a window: the same ones whenever somebody looks."""
    return sorted(ids, key=lambda key: sha256(f"{number}/{key}".encode()).digest())[:SAMPLE_SIZE]


@dataclass(frozen=True, slots=True)
class DigestFigures:
    """A worker's figures in a window; times in seconds of active time, pay in cents per hour, ``None`` without data.

    ``reviewed`` records were reviewed in the window; other workers found no error in ``reviewed_right`` of them.
    """

    submissions: int
    records: int
    median_seconds: float | None = None
    median_cents: int | None = None
    hints_shown: int = 0
    hints_ignored: int = 0
    reviewed: int = 0
    reviewed_right: int = 0
    advice: tuple[str, ...] = ()


def compose_digest(
    figures: DigestFigures, start: datetime, end: datetime, record_word: tuple[str, str]
) -> str:
    """Return the figures as a message to the worker, in English. ``record_word``: a record's singular and plural."""
    last_day = end - timedelta(seconds=1)
    records = _count(figures.records, *record_word)
    lines = [
        f"Thank you for your work from {start:%-d %B} to {last_day:%-d %B %Y} (UTC): "
        f"{_count(figures.submissions, 'submission', 'submissions')} with {records}."
    ]
    if figures.median_cents is not None:
        lines.append(f"Your median pay was {format_dollars(figures.median_cents)} per hour of active time.")
    if figures.reviewed:
        lines.append(
            f"Other workers reviewed {_count(figures.reviewed, *record_word)} and found no wrong answer and no wrong "
            f"object in {figures.reviewed_right}."
        )
    if figures.hints_ignored:
        lines.append(
            f"{figures.hints_ignored} of {_count(figures.hints_shown, 'live hint', 'live hints')} changed nothing: "
            "please read them before you submit."
        )
    if figures.advice:
        lines.append("\n".join(["Advice:", *(f"- {text}" for text in figures.advice[:MAX_ADVICE])]))
    return "\n\n".join(lines)


def _count(number: int, one: str, many: str) -> str:
    return f"{number} {one if number == 1 else many}"
