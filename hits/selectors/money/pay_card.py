"""The card on a batch's page: what its work pays per hour, and what would lift it to the target."""

from dataclasses import dataclass

from django.core.cache import cache
from django.db.models import Count, Max, Q, Sum

from hits.domain.chart import Chart
from hits.domain.money.pay import Spread, TopUp
from hits.domain.states import CallState
from hits.models import Assignment, Batch
from hits.selectors.money import pay, top_ups

MANY = 5_000  # submissions from which a card is remembered
REMEMBERED = 3600  # seconds


@dataclass(frozen=True, slots=True)
class PayCard:
    """Cents and cents an hour. ``busiest`` is the share of the busiest of so many ``workers``, in percent."""

    spread: Spread | None
    chart: Chart | None
    by_day: bool
    workers: int
    busiest: int
    top_up: TopUp
    topped_up_cents: int


def pay_card(batch: Batch) -> PayCard:
    """Return a batch's card; of many submissions, as it was found last where nothing that it says changed since."""
    count, state = _state(batch)
    if count < MANY:
        return _found(batch)
    key = f"pay-card:{batch.pk}:{state}"
    known: PayCard | None = cache.get(key)
    if known is None:
        known = _found(batch)
        cache.set(key, known, REMEMBERED)
    return known


def _state(batch: Batch) -> tuple[int, str]:
    """Return how many submissions there are, and numbers that change with every one that changes; two queries.

    The sums of the keys tell one submission from another that took its place.
    """
    rows = Assignment.objects.filter(hit__unit__batch=batch).order_by()
    groups = sorted(rows.values_list("status", "match").annotate(n=Count("pk"), keys=Sum("pk")))
    calls = batch.calls.aggregate(
        n=Count("pk"),
        last=Max("pk"),
        done=Count("pk", filter=Q(state=CallState.DONE)),
        refused=Count("pk", filter=Q(state=CallState.REFUSED)),
    )
    numbers = [
        batch.project.target_cents_per_hour,
        *(part for group in groups for part in group),
        *calls.values(),
    ]
    return sum(n for *_, n, _ in groups), ":".join(map(str, numbers))


def _found(batch: Batch) -> PayCard:
    promised = pay.promised_bonuses(batch, {batch.pk: batch})
    work = pay.work_of(batch, promised=promised)
    target = batch.project.target_cents_per_hour
    workers, busiest = pay.busiest_share(work)
    by_day = len({row.at.date() for row in work}) > 1
    missing = top_ups.proposal_for(batch, promised=promised)
    return PayCard(
        spread=pay.spread_of(work, target),
        chart=(pay.chart_by_day if by_day else pay.chart_by_submission)(work, target),
        by_day=by_day,
        workers=workers,
        busiest=round(100 * busiest),
        top_up=TopUp(missing.cents, missing.submissions),
        topped_up_cents=top_ups.topped_up_cents(batch),
    )
