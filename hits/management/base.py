"""What every management command of ours shares: exit status 2 on bad input, one JSON object on stdout."""

import json
from argparse import ArgumentParser
from typing import Any

from django.core.exceptions import ImproperlyConfigured
from django.core.management.base import BaseCommand, CommandError, CommandParser
from django.db import OperationalError, ProgrammingError

from hits.mturk.port import MarketplaceError
from hits.registry import NotInstalled
from hits.services.errors import Refused, Unconfirmed

INTERRUPTED = 130  # what shells call Ctrl-C


class DeerstalkerCommand(BaseCommand):
    """A command with ``--json``. Progress and warnings go to stderr; stdout belongs to the result.

    names_version: whether ``--version`` is a version of the data here, and not the framework's own flag.
    """

    names_version = False

    def create_parser(self, *args: Any, **kwargs: Any) -> CommandParser:
        """Return a parser that answers a bad flag with its one line alone; ``--help`` shows the usage."""
        if self.names_version:
            kwargs["conflict_handler"] = "resolve"
        parser = super().create_parser(*args, **kwargs)
        parser.print_usage = lambda file=None: None  # type: ignore[method-assign]
        return parser

    def execute(self, *args: Any, **options: Any) -> Any:
        """Run the command; what the services refuse and the marketplace does not do is one line."""
        try:
            return super().execute(*args, **options)
        except Unconfirmed as error:
            raise bad_input(f"{error}: --confirm-cents {error.cents}") from error
        except (Refused, ImproperlyConfigured) as error:
            raise bad_input(str(error)) from error
        except NotInstalled as error:
            raise bad_input(f"{error}; see EXTRA_KIND_PACKAGES and EXTRA_FAMILY_PACKAGES") from error
        except (OperationalError, ProgrammingError) as error:
            if "no such table" in str(error) or "does not exist" in str(error):
                raise bad_input("the database is not set up yet: make setup") from error
            raise
        except MarketplaceError as error:
            raise CommandError(f"the marketplace: {error}", returncode=1) from error

    def add_arguments(self, parser: ArgumentParser) -> None:
        """Declare ``--json``."""
        parser.add_argument("--json", action="store_true", help="print exactly one JSON object")


def bad_input(message: str) -> CommandError:
    """Return the error for input that cannot be used: one line, and exit status 2."""
    return CommandError(" ".join(message.split()), returncode=2)


def interrupted() -> CommandError:
    """Return the error for Ctrl-C in a command that writes at its end only."""
    return CommandError("stopped; nothing was written", returncode=INTERRUPTED)


def emit_json(command: BaseCommand, result: dict[str, Any]) -> None:
    """Print one JSON object; NaN is refused, since it is no JSON."""
    command.stdout.write(json.dumps(result, allow_nan=False))
