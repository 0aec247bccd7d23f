"""The pay card of a batch's page: pay per hour, and the top-up that reaches the target."""

from dataclasses import dataclass

from django.core.cache import cache
from django.db.models import Count, Max, Q, Sum

from hits.charts.chart import Chart
from hits.domain.money.pay import RateSpread, TopUpTotal
from hits.domain.states import CallState
from hits.models import Assignment, Batch
from hits.selectors.money import pay, top_ups

MIN_CACHED_SUBMISSIONS = 5_000  # submissions from which a card is cached
CACHE_SECONDS = 3600  # seconds


@dataclass(frozen=True, slots=True)
class PayCard:
    """Amounts in cents and cents per hour. ``most_active_percent``: the share of work by the most active worker."""

    spread: RateSpread | None
    chart: Chart | None
    by_day: bool
    workers: int
    most_active_percent: int
    top_up: TopUpTotal
    topped_up_cents: int


def pay_card(batch: Batch) -> PayCard:
    """Return a batch's card; with many submissions it comes from the cache until its fingerprint changes."""
    count, state = _submission_count_and_fingerprint(batch)
    if count < MIN_CACHED_SUBMISSIONS:
        return _compute_pay_card(batch)
    key = f"batch-pay-card:{batch.pk}:{state}"
    cached: PayCard | None = cache.get(key)
    if cached is None:
        cached = _compute_pay_card(batch)
        cache.set(key, cached, CACHE_SECONDS)
    return cached


def _submission_count_and_fingerprint(batch: Batch) -> tuple[int, str]:
    """Return the number of submissions, and a fingerprint that changes with each of them; two queries.

    The sums of primary keys distinguish a submission from one that replaced it.
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


def _compute_pay_card(batch: Batch) -> PayCard:
    promised_cents = pay.promised_bonus_cents_by_assignment(batch, {batch.pk: batch})
    work = pay.measured_work(batch, promised_cents=promised_cents)
    target = batch.project.target_cents_per_hour
    workers, most_active = pay.worker_count_and_most_active_share(work)
    by_day = len({row.at.date() for row in work}) > 1
    proposal = top_ups.propose_top_up(batch, promised_cents=promised_cents)
    return PayCard(
        spread=pay.hourly_rate_spread(work, target),
        chart=(pay.chart_by_day_or_week if by_day else pay.chart_by_submission_or_group)(work, target),
        by_day=by_day,
        workers=workers,
        most_active_percent=round(100 * most_active),
        top_up=TopUpTotal(proposal.cents, proposal.submission_count),
        topped_up_cents=top_ups.topped_up_cents(batch),
    )
