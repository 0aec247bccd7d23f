"""Put a batch's HITs on the marketplace, each exactly once.

Three steps each (ruling 1): commit the intent; call; commit the result. A process that dies between
them leaves an ``intent`` row. Its successor repeats the call with the same token while the token
lives (MTurk forgets it after 24 h), and looks for the HIT by its annotation afterwards.
"""

from datetime import timedelta

from django.conf import settings
from django.db import transaction
from django.db.models.functions import Coalesce
from django.urls import reverse
from django.utils import timezone

from hits import registry
from hits.domain.crashpoints import crash_point
from hits.domain.external_question import build_external_question
from hits.domain.qualifications import Requirement
from hits.domain.states import BatchState, HitState
from hits.models import Batch, Hit
from hits.mturk.port import Failure, HitTypeSpec, Marketplace, MarketplaceError, RemoteHit
from hits.payments import ledger
from hits.payments.models import Entry
from hits.selectors.eligibility import requirement
from hits.services.environment import refuse_other_marketplace
from hits.services.errors import Refused
from hits.services.jobs import Progress
from hits.services.qualifications import ensure_type

TOKEN_LIFE = timedelta(hours=23)  # an hour less than MTurk's day, so that clocks may differ
_FUNDS = " (add funds on the page Marketplace accounts, or with manage.py deposit)"
_PUBLISHABLE = [BatchState.LAUNCHING, BatchState.LIVE]
_WAITING = [HitState.PLANNED, HitState.INTENT]


def publish_batch(*, batch: Batch, marketplace: Marketplace, progress: Progress | None = None) -> int:
    """Publish every HIT that is not live yet and return how many went live now. Repeatable.

    Raises:
        Refused: the marketplace refused for good (no funds, a bad field); what is live stays live.
    """
    if batch.state not in _PUBLISHABLE:
        raise Refused(f"{batch.name} is {batch.state}: it cannot be published")
    refuse_other_marketplace(batch, marketplace)
    waiting = Hit.objects.filter(unit__batch=batch, state__in=_WAITING)
    total = Hit.objects.filter(unit__batch=batch).count()
    done = total - waiting.count()
    published = 0
    if waiting.exists():
        hit_type_id = _hit_type(batch, marketplace)
        known = _stale_by_annotation(batch, marketplace)
        for hit in waiting.select_related("unit").iterator(chunk_size=200):
            _publish_one(batch, hit, hit_type_id, marketplace, known)
            published += 1
            if progress is not None:
                progress.advance(done + published, total)
    Batch.objects.filter(pk=batch.pk, state=BatchState.LAUNCHING).update(state=BatchState.LIVE)
    return published


def _hit_type(batch: Batch, marketplace: Marketplace) -> str:
    if batch.hit_type_id:
        return batch.hit_type_id
    kind = registry.get(batch.kind)
    conditions = _conditions(batch, marketplace)
    try:
        hit_type_id = marketplace.create_hit_type(
            HitTypeSpec(
                # The batch's name keeps the groups of two batches apart in the worker's list.
                title=kind.title,
                description=f"{kind.description} ({batch.name})",
                keywords=kind.keywords,
                reward_cents=batch.reward_cents,
                duration_seconds=batch.duration_seconds,
                auto_approval_seconds=batch.auto_approval_seconds,
                requirements=conditions,
            )
        )
    except MarketplaceError as error:
        raise Refused(f"the marketplace refused the HIT type: {error}") from error
    Batch.objects.filter(pk=batch.pk).update(hit_type_id=hit_type_id)
    batch.hit_type_id = hit_type_id
    return hit_type_id


def _conditions(batch: Batch, marketplace: Marketplace) -> tuple[Requirement, ...]:
    """Return the batch's conditions for the marketplace; a qualification that it lacks is made there first."""
    rows = list(batch.requirements.select_related("qualification"))
    for row in rows:
        if row.qualification is not None:
            ensure_type(qualification=row.qualification, marketplace=marketplace)
    return tuple(requirement(row) for row in rows)


def _stale_by_annotation(batch: Batch, marketplace: Marketplace) -> dict[str, RemoteHit]:
    """Look before leaping: intents whose token may be dead are searched for by their annotation."""
    stale = Hit.objects.filter(
        unit__batch=batch, state=HitState.INTENT, attempt_at__lt=timezone.now() - TOKEN_LIFE
    )
    return _by_annotation(marketplace) if stale.exists() else {}


def _by_annotation(marketplace: Marketplace) -> dict[str, RemoteHit]:
    return {hit.annotation: hit for hit in marketplace.list_hits() if hit.annotation}


def _publish_one(
    batch: Batch, hit: Hit, hit_type_id: str, marketplace: Marketplace, known: dict[str, RemoteHit]
) -> None:
    remote = known.get(hit.annotation)
    if remote is None:
        crash_point("publish.before_intent")
        with transaction.atomic():
            # The token lives from the first attempt on, so that is the time to keep.
            intended = Hit.objects.filter(
                pk=hit.pk, state__in=_WAITING, unit__batch__state__in=_PUBLISHABLE
            ).update(state=HitState.INTENT, attempt_at=Coalesce("attempt_at", timezone.now()))
        if not intended:
            return  # another process published it, or somebody closed the batch, a moment ago
        crash_point("publish.after_intent")
        remote = _create(batch, hit, hit_type_id, marketplace)
        crash_point("publish.after_call")
    _went_live(batch, hit, remote)
    crash_point("publish.after_result")


@transaction.atomic
def _went_live(batch: Batch, hit: Hit, remote: RemoteHit) -> None:
    Hit.objects.filter(pk=hit.pk, state=HitState.INTENT).update(
        state=HitState.LIVE, hit_id=remote.hit_id, expires_at=remote.expires_at, error=""
    )
    held = batch.slot_cents(hit.max_assignments) * hit.max_assignments
    ledger.write(entry=Entry.HOLD, amount_cents=held, key=f"hold:{hit.pk}", batch=batch)


def cancel_unpublished(*, batch: Batch, marketplace: Marketplace) -> int:
    """Give up the HITs of a closing batch that never went live, and return how many; repeatable.

    One whose creation was tried may stand on the marketplace although its reply was lost: it is looked for
    first, and goes live, so that it is expired like the others.
    """
    tried = list(Hit.objects.filter(unit__batch=batch, state=HitState.INTENT))
    known = _by_annotation(marketplace) if tried else {}
    for hit in tried:
        if hit.annotation in known:
            _went_live(batch, hit, known[hit.annotation])
    return Hit.objects.filter(
        unit__batch=batch, unit__batch__state=BatchState.CLOSING, state__in=_WAITING
    ).update(state=HitState.CANCELLED)


def _create(batch: Batch, hit: Hit, hit_type_id: str, marketplace: Marketplace) -> RemoteHit:
    path = reverse("hit-page", args=[hit.unit.public_id], urlconf="annotation_site.urls")
    try:
        return marketplace.create_hit(
            hit_type_id=hit_type_id,
            question=build_external_question(f"{settings.HIT_ORIGIN}{path}", 0),
            annotation=hit.annotation,
            max_assignments=hit.max_assignments,
            lifetime_seconds=batch.lifetime_seconds,
            token=hit.token,
        )
    except MarketplaceError as error:
        if error.failure is Failure.ALREADY_EXISTS:
            # The first call went through and its reply was lost: the token says so, the list says which.
            found = _by_annotation(marketplace).get(hit.annotation)
            if found is not None:
                return found
        if not error.retry:
            Hit.objects.filter(pk=hit.pk).update(error=str(error)[:400])
        mend = _FUNDS if error.failure is Failure.NO_FUNDS and batch.environment == "local" else ""
        raise Refused(f"HIT {hit.annotation}: the marketplace refused it: {error}{mend}") from error
