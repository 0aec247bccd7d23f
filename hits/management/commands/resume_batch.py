"""``manage.py resume_batch ID``."""

from argparse import ArgumentParser
from typing import Any

from hits.management.base import DeerstalkerCommand
from hits.management.publishing import emit_published, publish_now
from hits.management.rows import batch_numbered


class Command(DeerstalkerCommand):
    """Publish the rest of a batch whose publication stopped."""

    help = "Publish what is missing of a batch, for instance after funds were added."

    def add_arguments(self, parser: ArgumentParser) -> None:
        """Declare the flags."""
        super().add_arguments(parser)
        parser.add_argument("batch", type=int)

    def handle(self, *args: Any, **options: Any) -> None:
        """Publish."""
        emit_published(self, options, publish_now(batch_numbered(options["batch"])))
