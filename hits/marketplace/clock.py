"""Wall-clock time in one place, so that the marketplace's own clock (models.Clock) may stand apart."""

from __future__ import annotations

from datetime import UTC, datetime


def wall_now() -> datetime:
    """Return the machine's time, aware, UTC. Signatures are judged by this one only."""
    return datetime.now(UTC)


def epoch_seconds(moment: datetime) -> float:
    """Return seconds since 1970 with milliseconds, as the API puts time on the wire."""
    return round(moment.timestamp(), 3)
