"""Put a batch's HITs on the marketplace, each exactly once.

Three steps each (ruling 1): commit the intent; call; commit the result. A process that dies between
them leaves an ``intent`` row. Its successor repeats the call with the same token while the token
lives (MTurk forgets it after 24 h), and looks for the HIT by its annotation afterwards (``adopting``).
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
from hits.selectors.eligibility.eligibility import requirement
from hits.selectors.listing import listing_of
from hits.selectors.publishing import stopped_before
from hits.services.collecting import notifications
from hits.services.environment import refuse_other_marketplace
from hits.services.errors import Busy, Refused
from hits.services.jobs.jobs import Progress
from hits.services.launching.eligibility import masters_condition
from hits.services.money import budget
from hits.services.publishing import orphan_recovery
from hits.services.publishing.publisher_lease import Publisher, is_held, publishing
from hits.services.publishing.rate_limit import Pace, pace_for
from hits.services.workers.qualifications import ensure_type

CHECK_EVERY = 100  # HITs between two looks at caps and funds
LOOK_AGAIN_SECONDS = (
    1.0,
    2.0,
    4.0,
    8.0,
    16.0,
    30.0,
)  # a new HIT may take half a minute to appear in the list
_FUNDS = " (add funds on the page Marketplace accounts, or with manage.py deposit)"
AGAIN_SECONDS = 5.0
_PUBLISHABLE = [BatchState.LAUNCHING, BatchState.LIVE]


def publish_batch(
    *, batch: Batch, marketplace: Marketplace, progress: Progress | None = None, pace: Pace | None = None
) -> int:
    """Publish every HIT that is not live yet and return how many went live now. Repeatable.

    ``pace`` is how fast it may go; none takes what is usual on this marketplace.

    Raises:
        Refused: the marketplace refused for good (no funds, a bad field), or a cap is reached; what is live stays
            live.
        Busy: another process publishes this batch.
        TurnOver: in a worker; the rest waits for the next turn.
    """
    if batch.state not in _PUBLISHABLE:
        raise Refused(f"{batch.name} is {batch.state}: it cannot be published")
    refuse_other_marketplace(batch, marketplace)
    published = 0
    if not_published(batch).exists():
        with publishing(batch) as publisher:
            pace = pace or pace_for(marketplace.environment)
            if progress is not None and progress.place:
                pace.go_on(progress.place)
            work = _Publication(publisher, marketplace, pace, progress)
            published = work.run()
    Batch.objects.filter(pk=batch.pk, state=BatchState.LAUNCHING).update(state=BatchState.LIVE)
    return published


def not_published(batch: Batch) -> "QuerySet[Hit]":
    """Return the batch's HITs that are planned, or were tried, and are not live."""
    return Hit.objects.filter(unit__batch=batch, state__in=UNPUBLISHED_HIT_STATES)


def come_again_if_unpublished(*, batch: Batch) -> None:
    """Let a job that ends come again while HITs are planned that it left, so that it never says “done” over them.

    Raises:
        Busy: some are; an extension may have planned them a moment ago.
    """
    if not_published(batch).filter(unit__batch__state__in=_PUBLISHABLE).exists():
        raise Busy(f"{batch.name} has tasks that are not published yet", AGAIN_SECONDS)


class _Publication:
    """One run over a batch's waiting HITs."""

    def __init__(
        self, publisher: Publisher, marketplace: Marketplace, pace: Pace, progress: Progress | None
    ) -> None:
        self.publisher = publisher
        self.batch = publisher.batch
        self.marketplace = marketplace
        self.pace = pace
        self.progress = progress
        self.published = 0
        self.unseen: list[Hit] = []  # the marketplace says that they stand, and does not show them yet

    def run(self) -> int:
        """Publish what waits; return how many HITs went live."""
        rows = Hit.objects.filter(unit__batch=self.batch)
        total = rows.count()
        waiting = rows.filter(state__in=UNPUBLISHED_HIT_STATES)
        before = total - waiting.count()
        budget.check_batch(batch=self.batch, marketplace=self.marketplace)
        hit_type_id = _hit_type(self.batch, self.marketplace)
        notifications.subscribe(batch=self.batch, marketplace=self.marketplace)
        orphan_recovery.resolve_stale(self.batch, self.marketplace)
        todo = list(waiting.values_list("pk", flat=True))
        for number, pk in enumerate(todo, start=1):
            self.publisher.go_on()
            if number % CHECK_EVERY == 0:
                budget.check_batch(batch=self.batch, marketplace=self.marketplace)
            self._publish_one(Hit.objects.select_related("unit").get(pk=pk), hit_type_id)
            if self.progress is not None:
                self.progress.advance(before + number - len(self.unseen), total)
            if number < len(todo):
                turns.rest(**self.pace.place())
        self._find_unseen()
        return self.published

    def _publish_one(self, hit: Hit, hit_type_id: str) -> None:
        crash_point("publish.before_intent")
        with transaction.atomic():
            # The token lives from the first attempt on, so that is the time to keep.
            intended = Hit.objects.filter(
                pk=hit.pk, state__in=UNPUBLISHED_HIT_STATES, unit__batch__state__in=_PUBLISHABLE
            ).update(state=HitState.INTENT, attempt_at=Coalesce("attempt_at", timezone.now()))
        if not intended:
            return  # another process published it, or somebody closed the batch, a moment ago
        crash_point("publish.after_intent")
        remote = self._create(hit, hit_type_id)
        crash_point("publish.after_call")
        if remote is None:
            self.unseen.append(hit)
            return
        self.published += orphan_recovery.went_live(self.batch, hit, remote)
        crash_point("publish.after_result")

    def _create(self, hit: Hit, hit_type_id: str) -> RemoteHit | None:
        """Return the HIT, or none when the marketplace says that it stands without saying which it is."""
        path = reverse("hit-page", args=[hit.unit.public_id], urlconf="annotation_site.urls")

        def create() -> RemoteHit:
            self.publisher.go_on()  # the pace may have waited, and a throttled call comes here again
            return self.marketplace.create_hit(
                hit_type_id=hit_type_id,
                question=build_external_question(f"{settings.HIT_ORIGIN}{path}", 0),
                annotation=hit.annotation,
                max_assignments=hit.max_assignments,
                lifetime_seconds=self.batch.lifetime_seconds,
                token=hit.token,
            )

        try:
            return self.pace.call(create)
        except MarketplaceError as error:
            if error.failure is Failure.ALREADY_EXISTS:  # the first call went through, and its reply was lost
                return orphan_recovery.named_in(error, hit, self.marketplace)
            if not error.retry:
                _note_refusal(hit, str(error))
            short = error.failure is Failure.NO_FUNDS and self.batch.environment == "local"
            raise Refused(
                f"HIT {hit.annotation}: the marketplace refused it: {error}{_FUNDS if short else ''}"
            ) from error

    def _find_unseen(self) -> None:
        """Look for the HITs that stand, until the list shows them; a new one takes a while to get there."""
        looked = self.progress.place.get("looked", 0) if self.progress is not None else 0
        for number, seconds in enumerate((0.0, *LOOK_AGAIN_SECONDS)[looked:], start=looked):
            if not self.unseen:
                return
            if seconds and number > looked:  # the first pause of a later turn was spent in the queue
                turns.pause_outside(seconds, looked=number, **self.pace.place())
                self.pace.pause(seconds)
            self.publisher.go_on()
            known = len(self.unseen)
            try:
                self.unseen = orphan_recovery.adopt(self.batch, self.unseen, self.marketplace)
            except MarketplaceError as error:
                raise Refused(f"the marketplace did not say which HITs it has: {error}") from error
            self.published += known - len(self.unseen)
        if self.unseen:
            raise Refused(
                f"the marketplace has made {len(self.unseen)} HITs already and does not show them yet: resume in a "
                "minute, nothing is made twice"
            )


def _note_refusal(hit: Hit, why: str) -> None:
    """Write down why a HIT was not made. A first try that was refused left nothing behind that could stand."""
    anew = {"state": HitState.PLANNED, "attempt_at": None} if hit.state == HitState.PLANNED else {}
    Hit.objects.filter(pk=hit.pk, state=HitState.INTENT).update(error=why[:400], **anew)


def cancel_unpublished(*, batch: Batch, marketplace: Marketplace) -> int:
    """Give up the HITs of a closing batch that never went live, and return how many; repeatable.

    One whose creation was tried may stand on the marketplace although its reply was lost: it is looked for
    first, and goes live, so that it is expired like the others. While a process publishes, or may have died a moment
    ago, its tries are left for a later look. So are those that the list does not show until it must have caught up.
    """
    over = [HitState.PLANNED]
    if not is_held(batch):
        tried = Hit.objects.filter(unit__batch=batch, state=HitState.INTENT)
        caught_up = stopped_before(batch, timezone.now() - orphan_recovery.LAG)  # asked before the list is
        orphan_recovery.adopt(batch, tried, marketplace)
        over += [HitState.INTENT] if caught_up else []
    return Hit.objects.filter(
        unit__batch=batch, unit__batch__state=BatchState.CLOSING, state__in=over
    ).update(state=HitState.CANCELLED)


def _hit_type(batch: Batch, marketplace: Marketplace) -> str:
    if batch.hit_type_id:
        return batch.hit_type_id
    conditions = _conditions(batch, marketplace)
    own = listing_of(batch)
    try:
        hit_type_id = marketplace.create_hit_type(
            HitTypeSpec(
                title=own.title,
                description=own.description,
                keywords=own.keywords,
                reward_cents=batch.reward_cents,
                duration_seconds=batch.duration_seconds,
                auto_approval_seconds=batch.auto_approval_seconds,
                requirements=conditions,
            )
        )
    except MarketplaceError as error:
        raise Refused(f"the marketplace refused the HIT type: {error}") from error
    crash_point("publish.after_type_call")
    Batch.objects.filter(pk=batch.pk).update(hit_type_id=hit_type_id)
    batch.hit_type_id = hit_type_id
    return hit_type_id


def _conditions(batch: Batch, marketplace: Marketplace) -> tuple[Requirement, ...]:
    """Return the batch's conditions for the marketplace; a qualification that it lacks is made there first."""
    rows = list(batch.requirements.select_related("qualification"))
    for row in rows:
        if row.qualification is not None:
            ensure_type(qualification=row.qualification, marketplace=marketplace)
    return tuple(requirement(row) for row in rows) + masters_condition(batch)
