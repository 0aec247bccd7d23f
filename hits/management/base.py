"""What every management command of ours shares: exit status 2 on bad input, one JSON object on stdout."""

import json
from argparse import ArgumentParser
from typing import Any

from django.core.management.base import BaseCommand, CommandError, CommandParser


class DeerstalkerCommand(BaseCommand):
    """A command with ``--json``. Progress and warnings go to stderr; stdout belongs to the result."""

    def create_parser(self, *args: Any, **kwargs: Any) -> CommandParser:
        """Return a parser that answers a bad flag with its one line alone; ``--help`` shows the usage."""
        parser = super().create_parser(*args, **kwargs)
        parser.print_usage = lambda file=None: None  # type: ignore[method-assign]
        return parser

    def add_arguments(self, parser: ArgumentParser) -> None:
        """Declare ``--json``."""
        parser.add_argument("--json", action="store_true", help="print exactly one JSON object")


def bad_input(message: str) -> CommandError:
    """Return the error for input that cannot be used: one line, and exit status 2."""
    return CommandError(" ".join(message.split()), returncode=2)


def emit_json(command: BaseCommand, result: dict[str, Any]) -> None:
    """Print one JSON object; NaN is refused, since it is no JSON."""
    command.stdout.write(json.dumps(result, allow_nan=False))
