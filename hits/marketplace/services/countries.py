"""The worker's declared country: required before the first task, changeable every 30 days."""

from datetime import datetime

from django.db import transaction

from hits.domain.workers.countries import CHANGE_INTERVAL, is_country
from hits.domain.workers.subdivisions import country_subdivisions, is_place, join_place, place_name_or_code
from hits.marketplace.closure_reasons import format_day
from hits.marketplace.errors import ActionRefused
from hits.marketplace.models import CountryDeclaration, Worker


@transaction.atomic
def declare_country(*, worker: Worker, country: str, now: datetime, subdivision: str = "") -> bool:
    """Record a worker's country; return False if nothing changed.

    ``subdivision`` is the state, for the United States only; it is ignored for other countries. A missing state can
    be added at any time. Raises ActionRefused for an unknown code, and for a change within 30 days of the last
    declaration.
    """
    if not is_country(country):
        raise ActionRefused("Choose a country from the list.")
    state = subdivision if country_subdivisions(country) else ""
    if not is_place(join_place(country, state)):
        raise ActionRefused("Choose a state from the list.")
    locked_worker = Worker.objects.select_for_update().get(pk=worker.pk)
    if locked_worker.country == country and state in {"", locked_worker.subdivision}:
        return False
    changeable_at = next_country_change_at(locked_worker)
    only_adds_state = locked_worker.country == country and not locked_worker.subdivision
    if changeable_at is not None and now < changeable_at and not only_adds_state:
        place = place_name_or_code(join_place(locked_worker.country, locked_worker.subdivision))
        raise ActionRefused(
            f"Your country is {place}. You can change it from {format_day(changeable_at)}: "
            f"at most once in {CHANGE_INTERVAL.days} days."
        )
    worker.country, worker.subdivision, worker.country_declared_at = country, state, now
    worker.save(update_fields=["country", "subdivision", "country_declared_at"])
    CountryDeclaration.objects.create(worker=worker, country=country, subdivision=state, at=now)
    return True


def next_country_change_at(worker: Worker) -> datetime | None:
    """Return when the declared country may next be changed; None before the first declaration."""
    return worker.country_declared_at and worker.country_declared_at + CHANGE_INTERVAL
