"""The country that a worker declares: once before the first task, and later at most every 30 days."""

from __future__ import annotations

from datetime import datetime

from django.db import transaction

from hits.domain.workers.countries import CHANGE_AFTER, is_country
from hits.domain.workers.subdivisions import is_place, join_place, place_name, subdivisions_of
from hits.marketplace.errors import Refused
from hits.marketplace.models import CountryDeclaration, Worker
from hits.marketplace.wording import day


@transaction.atomic
def declare_country(*, worker: Worker, country: str, now: datetime, subdivision: str = "") -> bool:
    """Record where a worker works from; return False when nothing changed.

    ``subdivision`` is the state, for the United States alone; for other countries it is left out. It may be added
    later at any time, since naming it takes nothing back. Raises Refused for a code that is none, and for a change
    within 30 days of the last declaration.
    """
    if not is_country(country):
        raise Refused("Choose a country from the list.")
    part = subdivision if subdivisions_of(country) else ""
    if not is_place(join_place(country, part)):
        raise Refused("Choose a state from the list.")
    present = Worker.objects.select_for_update().get(pk=worker.pk)
    if present.country == country and part in {"", present.subdivision}:
        return False
    opens = change_opens(present)
    only_adds = present.country == country and not present.subdivision
    if opens is not None and now < opens and not only_adds:
        place = place_name(join_place(present.country, present.subdivision))
        raise Refused(
            f"Your country is {place} and can be changed from {day(opens)} on: "
            f"at most once in {CHANGE_AFTER.days} days."
        )
    worker.country, worker.subdivision, worker.country_declared_at = country, part, now
    worker.save(update_fields=["country", "subdivision", "country_declared_at"])
    CountryDeclaration.objects.create(worker=worker, country=country, subdivision=part, at=now)
    return True


def change_opens(worker: Worker) -> datetime | None:
    """Return from when on the declared country may be changed; None before the first declaration."""
    return worker.country_declared_at and worker.country_declared_at + CHANGE_AFTER
