"""The country that a worker declares: once before the first task, and later at most every 30 days."""

from __future__ import annotations

from datetime import datetime

from django.db import transaction

from hits.domain.countries import CHANGE_AFTER, country_name, is_country
from hits.marketplace.errors import Refused
from hits.marketplace.models import CountryDeclaration, Worker
from hits.marketplace.wording import day


@transaction.atomic
def declare_country(*, worker: Worker, country: str, now: datetime) -> bool:
    """Record where a worker works from; return False when nothing changed.

    Raises Refused for a code that is none, and for a change within 30 days of the last declaration.
    """
    if not is_country(country):
        raise Refused("Choose a country from the list.")
    present = Worker.objects.select_for_update().get(pk=worker.pk)
    if present.country == country:
        return False
    opens = change_opens(present)
    if opens is not None and now < opens:
        raise Refused(
            f"Your country is {country_name(present.country)} and can be changed from {day(opens)} on: "
            f"at most once in {CHANGE_AFTER.days} days."
        )
    worker.country, worker.country_declared_at = country, now
    worker.save(update_fields=["country", "country_declared_at"])
    CountryDeclaration.objects.create(worker=worker, country=country, at=now)
    return True


def change_opens(worker: Worker) -> datetime | None:
    """Return from when on the declared country may be changed; None before the first declaration."""
    return worker.country_declared_at and worker.country_declared_at + CHANGE_AFTER
