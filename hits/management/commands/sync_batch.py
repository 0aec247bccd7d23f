"""``manage.py sync_batch ID``."""

from argparse import ArgumentParser
from dataclasses import asdict
from typing import Any

from hits.management.base import DeerstalkerCommand, emit_json
from hits.management.rows import batch_numbered
from hits.mturk.boto import marketplace
from hits.services.collect import sync_batch


class Command(DeerstalkerCommand):
    """Copy a batch's assignments from the marketplace."""

    help = "Copy a batch's assignments from the marketplace and match them with stored submissions."

    def add_arguments(self, parser: ArgumentParser) -> None:
        """Declare the flags."""
        super().add_arguments(parser)
        parser.add_argument("batch", type=int)

    def handle(self, *args: Any, **options: Any) -> None:
        """Synchronise."""
        batch = batch_numbered(options["batch"])
        found = sync_batch(batch=batch, marketplace=marketplace())
        if options["json"]:
            emit_json(self, {"batch": batch.pk, **asdict(found)})
        else:
            self.stdout.write(f"{found.new} new, {found.matched} matched, {found.unmatched} need a look")
