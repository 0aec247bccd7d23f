"""Base of the marketplace's commands. The platform has its own base: neither app imports the other."""

import argparse
import json
from typing import Any

from django.core.management.base import BaseCommand, CommandError
from django.db import OperationalError, ProgrammingError

from hits.marketplace.errors import ActionRefused

BAD_INPUT = 2


class MarketplaceCommand(BaseCommand):
    """A command with ``--json``; bad input is one line and exit status 2."""

    def add_arguments(self, parser: argparse.ArgumentParser) -> None:
        """Declare ``--json``."""
        parser.add_argument("--json", action="store_true", help="print one JSON object")

    def execute(self, *args: Any, **options: Any) -> Any:
        """Run the command; report a refusal as one line."""
        try:
            return super().execute(*args, **options)
        except ActionRefused as refusal:
            raise CommandError(str(refusal), returncode=BAD_INPUT) from None
        except (OperationalError, ProgrammingError) as error:
            if "no such table" in str(error) or "does not exist" in str(error):
                raise CommandError(
                    "the database is not set up yet; run make setup", returncode=BAD_INPUT
                ) from error
            raise

    def print_result(self, options: dict[str, Any], result: dict[str, Any], *lines: str) -> None:
        """Print one JSON object, or the lines of text."""
        self.stdout.write(json.dumps(result) if options["json"] else "\n".join(lines))
