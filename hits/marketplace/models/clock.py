"""The marketplace's clock: the wall clock plus an offset that tests may change."""

from datetime import datetime, timedelta

from django.db import models

from hits.marketplace.wall_clock import wall_now

SINGLETON = 1


class Clock(models.Model):
    """At most one row. No row, or offset 0, means real time."""

    id = models.PositiveSmallIntegerField(primary_key=True, default=SINGLETON)
    offset_seconds = models.FloatField(default=0.0)

    class Meta:
        constraints = [
            models.CheckConstraint(condition=models.Q(id=SINGLETON), name="marketplace_one_clock"),
        ]

    @classmethod
    def now(cls) -> datetime:
        """Return the marketplace's current time, aware, UTC."""
        offset = cls.objects.filter(pk=SINGLETON).values_list("offset_seconds", flat=True).first()
        return wall_now() + timedelta(seconds=offset or 0.0)
