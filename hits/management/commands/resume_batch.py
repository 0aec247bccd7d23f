"""``manage.py resume_batch ID``."""

from typing import Any

from hits.management.base import BatchCommand
from hits.management.lookups import find_batch
from hits.management.publishing import print_live_hit_count, publish_remaining_hits


class Command(BatchCommand):
    """Publish the rest of a batch whose publication stopped."""

    help = "Publish the unpublished HITs of a batch, for example after funds were added."

    def handle(self, *args: Any, **options: Any) -> None:
        """Publish."""
        print_live_hit_count(self, options, publish_remaining_hits(find_batch(options["batch"])))
