"""Publish a batch's HITs on the marketplace, each exactly once.

Each HIT takes three steps: commit the intent, call, commit the result; no call happens inside a transaction. A
process that dies between them leaves an ``intent`` row. Its successor repeats the call with the same token while the
token is valid (24 h on MTurk), and looks for the HIT by its annotation afterwards (``orphan_recovery``).
"""

from django.conf import settings
from django.db import transaction
from django.db.models import QuerySet
from django.db.models.functions import Coalesce
from django.urls import reverse
from django.utils import timezone

from hits.domain.crashpoints import crash_point
from hits.domain.jobs import turns
from hits.domain.mturk_formats.external_question import build_external_question
from hits.domain.states import UNPUBLISHED_HIT_STATES, BatchState, HitState
from hits.domain.workers.requirements import Requirement
from hits.models import Batch, Hit
from hits.mturk.port import Failure, HitTypeSpec, Marketplace, MarketplaceError, RemoteHit
from hits.selectors.eligibility.eligibility import marketplace_requirement
from hits.selectors.listing import batch_listing
from hits.selectors.publishing import was_closed_at
from hits.services.collecting import notifications
from hits.services.environment import refuse_other_environment_or_fees
from hits.services.errors import Refused, RetryLater
from hits.services.jobs.jobs import Progress
from hits.services.launching.eligibility import masters_requirements
from hits.services.money import budget
from hits.services.publishing import orphan_recovery
from hits.services.publishing.publisher_lease import Publisher, hold_publisher_lease, is_being_published
from hits.services.publishing.rate_limit import RateLimiter, build_rate_limiter
from hits.services.workers.qualifications import ensure_qualification_type

BUDGET_CHECK_INTERVAL = 100  # HITs between two checks of caps and funds
# A new HIT may take half a minute to appear in the list.
LOOKUP_RETRY_SECONDS = (1.0, 2.0, 4.0, 8.0, 16.0, 30.0)
_FUNDS_ADVICE = " (add funds on the page Marketplace accounts, or with manage.py deposit)"
RESCHEDULE_SECONDS = 5.0
_PUBLISHABLE = [BatchState.LAUNCHING, BatchState.LIVE]


def publish_batch(
    *,
    batch: Batch,
    marketplace: Marketplace,
    progress: Progress | None = None,
    rate_limiter: RateLimiter | None = None,
) -> int:
    """Publish every HIT that is not live yet; return how many became live. Repeatable.

    ``rate_limiter``: the default is the marketplace's.

    Raises:
        Refused: the marketplace refused for good (no funds, a bad field), or a cap is reached; live HITs stay live.
        RetryLater: another process publishes this batch.
        TurnOver: in a worker process; the rest waits for the next turn.
    """
    if batch.state not in _PUBLISHABLE:
        raise Refused(f"{batch.name} is {batch.state}: it cannot be published")
    refuse_other_environment_or_fees(batch, marketplace)
    published = 0
    if unpublished_hits(batch).exists():
        with hold_publisher_lease(batch) as publisher:
            rate_limiter = rate_limiter or build_rate_limiter(marketplace.environment)
            if progress is not None and progress.resume_point:
                rate_limiter.resume(progress.resume_point)
            run = _PublicationRun(publisher, marketplace, rate_limiter, progress)
            published = run.run()
    Batch.objects.filter(pk=batch.pk, state=BatchState.LAUNCHING).update(state=BatchState.LIVE)
    return published


def unpublished_hits(batch: Batch) -> "QuerySet[Hit]":
    """Return the batch's HITs that are planned or attempted and not live."""
    return Hit.objects.filter(unit__batch=batch, state__in=UNPUBLISHED_HIT_STATES)


def reschedule_if_unpublished(*, batch: Batch) -> None:
    """Reschedule an ending job while planned HITs remain, so that “done” means that all are published.

    Raises:
        RetryLater: some remain; an extension may have planned them a moment ago.
    """
    if unpublished_hits(batch).filter(unit__batch__state__in=_PUBLISHABLE).exists():
        raise RetryLater(f"{batch.name} has tasks that are not published yet", RESCHEDULE_SECONDS)


class _PublicationRun:
    """One run over a batch's waiting HITs."""

    def __init__(
        self,
        publisher: Publisher,
        marketplace: Marketplace,
        rate_limiter: RateLimiter,
        progress: Progress | None,
    ) -> None:
        self.publisher = publisher
        self.batch = publisher.batch
        self.marketplace = marketplace
        self.rate_limiter = rate_limiter
        self.progress = progress
        self.published = 0
        self.unlisted: list[Hit] = []  # reported as existing, and not in the list yet

    def run(self) -> int:
        """Publish the waiting HITs; return how many became live."""
        rows = Hit.objects.filter(unit__batch=self.batch)
        total = rows.count()
        waiting = rows.filter(state__in=UNPUBLISHED_HIT_STATES)
        published_before = total - waiting.count()
        budget.check_batch_budget(batch=self.batch, marketplace=self.marketplace)
        hit_type_id = _ensure_hit_type(self.batch, self.marketplace)
        notifications.subscribe_batch(batch=self.batch, marketplace=self.marketplace)
        orphan_recovery.recover_stale_hits(self.batch, self.marketplace)
        pending = list(waiting.values_list("pk", flat=True))
        for number, pk in enumerate(pending, start=1):
            self.publisher.ensure_lease()
            if number % BUDGET_CHECK_INTERVAL == 0:
                budget.check_batch_budget(batch=self.batch, marketplace=self.marketplace)
            self._publish_one(Hit.objects.select_related("unit").get(pk=pk), hit_type_id)
            if self.progress is not None:
                self.progress.advance(published_before + number - len(self.unlisted), total)
            if number < len(pending):
                turns.end_turn_if_over(**self.rate_limiter.resume_point())
        self._recover_unlisted_hits()
        return self.published

    def _publish_one(self, hit: Hit, hit_type_id: str) -> None:
        crash_point("publish.before_intent")
        with transaction.atomic():
            # The token's life starts with the first attempt, so its time stays.
            claimed = Hit.objects.filter(
                pk=hit.pk, state__in=UNPUBLISHED_HIT_STATES, unit__batch__state__in=_PUBLISHABLE
            ).update(state=HitState.INTENT, attempt_at=Coalesce("attempt_at", timezone.now()))
        if not claimed:
            return  # another process published it, or the batch was closed, a moment ago
        crash_point("publish.after_intent")
        remote = self._create(hit, hit_type_id)
        crash_point("publish.after_call")
        if remote is None:
            self.unlisted.append(hit)
            return
        self.published += orphan_recovery.mark_hit_live(self.batch, hit, remote)
        crash_point("publish.after_result")

    def _create(self, hit: Hit, hit_type_id: str) -> RemoteHit | None:
        """Return the HIT, or none if the marketplace reports that it exists without naming it."""
        path = reverse("hit-page", args=[hit.unit.public_id], urlconf="annotation_site.urls")

        def create() -> RemoteHit:
            self.publisher.ensure_lease()  # the limiter may have waited, and a throttled call comes here again
            return self.marketplace.create_hit(
                hit_type_id=hit_type_id,
                question=build_external_question(f"{settings.HIT_ORIGIN}{path}", 0),
                annotation=hit.annotation,
                max_assignments=hit.max_assignments,
                lifetime_seconds=self.batch.lifetime_seconds,
                token=hit.token,
            )

        try:
            return self.rate_limiter.call(create)
        except MarketplaceError as error:
            if error.failure is Failure.ALREADY_EXISTS:  # an earlier call succeeded and its reply was lost
                return orphan_recovery.find_hit_named_in_error(error, hit, self.marketplace)
            if not error.is_retryable:
                _record_refusal(hit, str(error))
            is_unfunded = error.failure is Failure.NO_FUNDS and self.batch.environment == "local"
            raise Refused(
                f"HIT {hit.annotation}: the marketplace refused it: {error}{_FUNDS_ADVICE if is_unfunded else ''}"
            ) from error

    def _recover_unlisted_hits(self) -> None:
        """Look for existing HITs until the list shows them; a new HIT takes a while to appear."""
        first_try = self.progress.resume_point.get("looked", 0) if self.progress is not None else 0
        for number, seconds in enumerate((0.0, *LOOKUP_RETRY_SECONDS)[first_try:], start=first_try):
            if not self.unlisted:
                return
            if seconds and number > first_try:  # the first pause of a later turn was spent in the queue
                turns.end_turn_if_pause_is_long(seconds, looked=number, **self.rate_limiter.resume_point())
                self.rate_limiter.pause(seconds)
            self.publisher.ensure_lease()
            known = len(self.unlisted)
            try:
                self.unlisted = orphan_recovery.recover_hits(self.batch, self.unlisted, self.marketplace)
            except MarketplaceError as error:
                raise Refused(f"the marketplace did not list its HITs: {error}") from error
            self.published += known - len(self.unlisted)
        if self.unlisted:
            raise Refused(
                f"the marketplace has created {len(self.unlisted)} HITs and does not list them yet: resume "
                "publishing in a minute; no HIT is created twice"
            )


def _record_refusal(hit: Hit, reason: str) -> None:
    """Record why a HIT was not created. A refused first attempt leaves no HIT behind."""
    reset = {"state": HitState.PLANNED, "attempt_at": None} if hit.state == HitState.PLANNED else {}
    Hit.objects.filter(pk=hit.pk, state=HitState.INTENT).update(error=reason[:400], **reset)


def cancel_unpublished_hits(*, batch: Batch, marketplace: Marketplace) -> int:
    """Cancel the HITs of a closing batch that never became live; return their number. Repeatable.

    An attempted HIT may exist although its reply was lost. It is looked up first and becomes live, so that it is
    expired like the others. Attempts of a process that may still publish wait for a later check, and so do attempts
    that a lagging list may not show yet.
    """
    cancellable = [HitState.PLANNED]
    if not is_being_published(batch):
        attempted = Hit.objects.filter(unit__batch=batch, state=HitState.INTENT)
        caught_up = was_closed_at(batch, timezone.now() - orphan_recovery.LISTING_LAG)  # read before the list
        orphan_recovery.recover_hits(batch, attempted, marketplace)
        cancellable += [HitState.INTENT] if caught_up else []
    return Hit.objects.filter(
        unit__batch=batch, unit__batch__state=BatchState.CLOSING, state__in=cancellable
    ).update(state=HitState.CANCELLED)


def _ensure_hit_type(batch: Batch, marketplace: Marketplace) -> str:
    if batch.hit_type_id:
        return batch.hit_type_id
    requirements = _build_requirements(batch, marketplace)
    listing = batch_listing(batch)
    try:
        hit_type_id = marketplace.create_hit_type(
            HitTypeSpec(
                title=listing.title,
                description=listing.description,
                keywords=listing.keywords,
                reward_cents=batch.reward_cents,
                duration_seconds=batch.duration_seconds,
                auto_approval_seconds=batch.auto_approval_seconds,
                requirements=requirements,
            )
        )
    except MarketplaceError as error:
        raise Refused(f"the marketplace refused the HIT type: {error}") from error
    crash_point("publish.after_type_call")
    Batch.objects.filter(pk=batch.pk).update(hit_type_id=hit_type_id)
    batch.hit_type_id = hit_type_id
    return hit_type_id


def _build_requirements(batch: Batch, marketplace: Marketplace) -> tuple[Requirement, ...]:
    """Return the batch's requirements for the marketplace; missing qualification types are created there first."""
    rows = list(batch.requirements.select_related("qualification"))
    for row in rows:
        if row.qualification is not None:
            ensure_qualification_type(qualification=row.qualification, marketplace=marketplace)
    return tuple(marketplace_requirement(row) for row in rows) + masters_requirements(batch)
