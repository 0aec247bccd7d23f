"""``manage.py sync_batch ID [--read-records]``."""

from argparse import ArgumentParser
from dataclasses import asdict
from typing import Any

from hits.management.base import DeerstalkerCommand, emit_json
from hits.management.rows import batch_numbered
from hits.mturk.boto import marketplace
from hits.selectors.records import unreadable
from hits.services.collecting.collect import sync_batch
from hits.services.collecting.records import read_records_again


class Command(DeerstalkerCommand):
    """Copy a batch's assignments from the marketplace."""

    help = "Copy a batch's assignments from the marketplace and match them with stored submissions."

    def add_arguments(self, parser: ArgumentParser) -> None:
        """Declare the flags."""
        super().add_arguments(parser)
        parser.add_argument("batch", type=int)
        parser.add_argument(
            "--read-records", action="store_true", help="also read again records that could not be read"
        )

    def handle(self, *args: Any, **options: Any) -> None:
        """Synchronise."""
        batch = batch_numbered(options["batch"])
        found = sync_batch(batch=batch, marketplace=marketplace())
        again = read_records_again(batch=batch, by=None) if options["read_records"] else None
        left = unreadable(batch).count()
        if options["json"]:
            emit_json(self, {"batch": batch.pk, **asdict(found), "unreadable_records": left})
            return
        self.stdout.write(f"{found.new} new, {found.matched} matched, {found.unmatched} need a look")
        if again is not None:
            self.stdout.write(f"records of {again.read} submissions read that could not be read before")
        if left:
            self.stdout.write(f"records of {left} submissions cannot be read; see the batch's page")
