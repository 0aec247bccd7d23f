"""Wall-clock time. The marketplace's own clock (models.Clock) may differ from it."""

from datetime import UTC, datetime


def wall_now() -> datetime:
    """Return the machine's time, aware, UTC. Signatures are checked against this clock only."""
    return datetime.now(UTC)


def epoch_seconds(moment: datetime) -> float:
    """Return seconds since 1970 with milliseconds, the API's time format."""
    return round(moment.timestamp(), 3)
