"""What the failure tests share: big batches quickly, time that passes on both sides, leases that run out."""

from collections.abc import Callable, Sequence
from datetime import timedelta
from typing import Any

from django.db.models import Sum
from django.utils import timezone

from hits.marketplace.models import HIT, LedgerEntry
from hits.marketplace.services import accounts
from hits.models import Batch, Hit, Image, OutgoingCall, Project
from hits.mturk.boto import marketplace
from hits.payments import ledger
from hits.services.launching.launch import PlannedUnit, launch_batch
from hits.services.launching.terms import LaunchTerms
from hits.services.outbox import outbox
from hits.services.publishing import publish
from tests.support.faults import KINDS
from tests.support.marketplace_clock import advance_clock

CREATE = "CreateHITWithHITType"


def planned(project: Project, image: Image, count: int, **terms: Any) -> Batch:
    """Return a batch of ``count`` units about one picture, not published yet."""
    Project.objects.filter(pk=project.pk).update(confirm_above_cents=2_000_000_000)
    project.refresh_from_db()
    units = [PlannedUnit(key=f"unit-{n}", payload={"image": image.pk}) for n in range(count)]
    return launch_batch(
        project=project,
        kind_name="sherlock_observation",
        name="Batch",
        units=units,
        by=None,
        terms=LaunchTerms(**terms),
    )[0]


def publish_all() -> None:
    """Publish the one batch; for a child process."""
    publish.publish_batch(batch=Batch.objects.get(), marketplace=marketplace())


def settle_all() -> None:
    """Make every call that stands in the outbox; for a child process."""
    outbox.settle_outstanding_calls(marketplace=marketplace())


def leases_run_out() -> None:
    """Let the time pass after which a dead process's work is taken over."""
    now = timezone.now()
    Batch.objects.update(lease_until=now)
    OutgoingCall.objects.exclude(lease_until=None).update(lease_until=now)


def spread(kinds: Sequence[str] = KINDS, *, gap: int = 1) -> list[str]:
    """Return faults with calls between them that go well, so that no call meets more than it repeats."""
    return [row for kind in kinds for row in (kind, *[""] * gap)]


def check_each_once(batch: Batch, count: int) -> None:
    """Check that the marketplace has exactly our HITs, each once, and that both ledgers hold the same cents."""
    theirs = list(HIT.objects.values_list("hit_id", "annotation"))
    assert len(theirs) == count
    assert len({annotation for _, annotation in theirs}) == count
    assert dict(theirs) == dict(Hit.objects.values_list("hit_id", "annotation"))
    check_money(batch)


def check_money(batch: Batch) -> None:
    """Check that our ledger says of the batch what the marketplace's account says, to the cent."""
    sums, balance = ledger.sum_entries(batch=batch), marketplace().get_balance()
    rows = LedgerEntry.objects.filter(requester__name=accounts.PLATFORM_NAME, kind="deposit")
    deposited = rows.aggregate(sum=Sum("available_cents"))["sum"]
    assert sums.held == balance.on_hold_cents
    assert deposited - sums.spent - sums.held == balance.available_cents


class Clock:
    """Seconds that pass only while somebody sleeps."""

    def __init__(self) -> None:
        self.now = 0.0

    def __call__(self) -> float:
        return self.now

    def sleep(self, seconds: float) -> None:
        """Let time pass."""
        self.now += seconds


class Later:
    """Both clocks, moved on together."""

    def __init__(self, monkeypatch: Any) -> None:
        self._real: Callable[[], Any] = timezone.now
        self._moved = timedelta(0)
        monkeypatch.setattr("django.utils.timezone.now", lambda: self._real() + self._moved)

    def by(self, step: timedelta) -> None:
        """Move our clock and the marketplace's on."""
        self._moved += step
        advance_clock(by=step)
