"""``manage.py reconcile ID``."""

from typing import Any

from hits.domain.money.usd import format_dollars
from hits.management.base import BatchCommand
from hits.management.lookups import find_batch
from hits.mturk.boto import marketplace
from hits.services.reconciling.reconcile import reconcile_batch, summarize_reconciliation


class Command(BatchCommand):
    """Compare a batch with the marketplace."""

    help = "Compare a batch's assignments, HITs and money with the marketplace, and store the comparison."

    def handle(self, *args: Any, **options: Any) -> None:
        """Compare."""
        batch = find_batch(options["batch"])
        found = reconcile_batch(batch=batch, marketplace=marketplace())
        self.report(
            options,
            {"batch": batch.pk, **summarize_reconciliation(found)},
            f"assignments: {found.matched} matched, {found.marketplace_only} only on the marketplace, "
            f"{found.mismatch} do not match, {found.ours_only} submissions only stored here; "
            f"{found.hits} tasks compared, {found.failed} failed",
            f"our ledger {format_dollars(found.cents_ours)}, the marketplace "
            f"{format_dollars(found.cents_marketplace)}; {len(found.findings)} tasks differ",
        )
