"""``manage.py reconcile ID``."""

from argparse import ArgumentParser
from typing import Any

from hits.domain.money.usd import format_dollars
from hits.management.base import DeerstalkerCommand, emit_json
from hits.management.rows import batch_numbered
from hits.mturk.boto import marketplace
from hits.services.reconciling.reconcile import reconcile_batch, summary


class Command(DeerstalkerCommand):
    """Compare a batch with the marketplace."""

    help = (
        "Compare a batch's assignments, HITs and money with the marketplace, and write the comparison down."
    )

    def add_arguments(self, parser: ArgumentParser) -> None:
        """Declare the flags."""
        super().add_arguments(parser)
        parser.add_argument("batch", type=int)

    def handle(self, *args: Any, **options: Any) -> None:
        """Compare."""
        batch = batch_numbered(options["batch"])
        found = reconcile_batch(batch=batch, marketplace=marketplace())
        if options["json"]:
            emit_json(self, {"batch": batch.pk, **summary(found)})
            return
        self.stdout.write(
            f"{found.matched} matched, {found.marketplace_only} only on the marketplace, {found.mismatch} do not "
            f"match, {found.ours_only} only here; {found.hits} tasks looked at, {found.failed} could not be"
        )
        self.stdout.write(
            f"our ledger {format_dollars(found.cents_ours)}, the marketplace "
            f"{format_dollars(found.cents_marketplace)}; {len(found.findings)} tasks differ"
        )
