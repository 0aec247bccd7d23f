"""``manage.py sync_batch ID [--read-records]``."""

from argparse import ArgumentParser
from dataclasses import asdict
from typing import Any

from hits.management.base import BatchCommand
from hits.management.lookups import find_batch
from hits.mturk.boto import marketplace
from hits.selectors.records import unreadable_assignments
from hits.services.collecting.assignment_sync import sync_batch
from hits.services.collecting.records import reread_records


class Command(BatchCommand):
    """Copy a batch's assignments from the marketplace."""

    help = "Copy a batch's assignments from the marketplace and match them with stored submissions."

    def add_arguments(self, parser: ArgumentParser) -> None:
        """Declare the options."""
        super().add_arguments(parser)
        parser.add_argument(
            "--read-records",
            action="store_true",
            help="also try again to read records that could not be read",
        )

    def handle(self, *args: Any, **options: Any) -> None:
        """Synchronise."""
        batch = find_batch(options["batch"])
        found = sync_batch(batch=batch, marketplace=marketplace())
        retry_result = reread_records(batch=batch, by=None) if options["read_records"] else None
        unreadable_count = unreadable_assignments(batch).count()
        lines = [f"assignments: {found.new} new, {found.matched} matched, {found.unmatched} not matched"]
        if retry_result is not None:
            lines.append(f"records of {retry_result.read} submissions could be read on the retry")
        if unreadable_count:
            lines.append(f"records of {unreadable_count} submissions cannot be read; see the batch's page")
        facts = {"batch": batch.pk, **asdict(found), "unreadable_records": unreadable_count}
        self.report(options, facts, *lines)
