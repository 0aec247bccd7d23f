"""Move the marketplace's clock; no product code does."""

from datetime import timedelta

from django.db import transaction
from django.db.models import F

from hits.marketplace.models import Clock
from hits.marketplace.models.clock import SINGLETON


@transaction.atomic
def advance_clock(*, by: timedelta) -> None:
    """Move the marketplace's clock forward by ``by`` (negative: back). Signatures are not affected."""
    Clock.objects.get_or_create(pk=SINGLETON)
    Clock.objects.filter(pk=SINGLETON).update(offset_seconds=F("offset_seconds") + by.total_seconds())


@transaction.atomic
def reset_clock() -> None:
    """Return to real time."""
    Clock.objects.filter(pk=SINGLETON).delete()
