"""The base of our management commands: exit status 2 on bad input, one JSON object on stdout."""

import json
import sys
from argparse import Action, ArgumentParser, Namespace
from typing import Any

from django.core.exceptions import ImproperlyConfigured
from django.core.management.base import BaseCommand, CommandError, CommandParser
from django.db import OperationalError, ProgrammingError

from hits.mturk.port import MarketplaceError
from hits.registry import PackageNotInstalled
from hits.services.errors import ConfirmationRequired, Refused

INTERRUPTED_STATUS = 130  # the exit status that shells use for Ctrl-C


class RenamedOption(Action):
    """An option whose first spelling is its name; the others still work for one release, with a notice on stderr."""

    def __call__(
        self, parser: ArgumentParser, namespace: Namespace, values: Any, option_string: str | None = None
    ) -> None:
        """Store the value, or ``const`` for a flag."""
        name = self.option_strings[0]
        if option_string != name:
            sys.stderr.write(f"{option_string} is now {name}; the next release drops the old spelling\n")
        setattr(namespace, self.dest, self.const if self.nargs == 0 else values)


class DeerstalkerCommand(BaseCommand):
    """A command with ``--json``. Progress and warnings go to stderr, the result to stdout.

    has_version_option: ``--version`` is an option of the command, not Django's own flag.
    """

    has_version_option = False

    def create_parser(self, *args: Any, **kwargs: Any) -> CommandParser:
        """Return a parser that prints one line for a bad option; ``--help`` shows the usage."""
        if self.has_version_option:
            kwargs["conflict_handler"] = "resolve"
        parser = super().create_parser(*args, **kwargs)
        parser.print_usage = lambda file=None: None  # type: ignore[method-assign]
        return parser

    def execute(self, *args: Any, **options: Any) -> Any:
        """Run the command; refusals and marketplace errors become one line."""
        try:
            return super().execute(*args, **options)
        except ConfirmationRequired as error:
            raise input_error(f"{error}: --confirm-cents {error.cents}") from error
        except (Refused, ImproperlyConfigured) as error:
            raise input_error(str(error)) from error
        except PackageNotInstalled as error:
            raise input_error(f"{error}; see EXTRA_KIND_PACKAGES and EXTRA_FAMILY_PACKAGES") from error
        except (OperationalError, ProgrammingError) as error:
            if "no such table" in str(error) or "does not exist" in str(error):
                raise input_error("the database is not set up yet; run make setup") from error
            raise
        except MarketplaceError as error:
            raise CommandError(f"the marketplace: {error}", returncode=1) from error

    def add_arguments(self, parser: ArgumentParser) -> None:
        """Declare ``--json``."""
        parser.add_argument("--json", action="store_true", help="print exactly one JSON object")

    def report(self, options: dict[str, Any], facts: dict[str, Any], *lines: str) -> None:
        """Print the facts with ``--json``, otherwise the lines."""
        if options["json"]:
            emit_json(self, facts)
            return
        for line in lines:
            self.stdout.write(line)


class BatchCommand(DeerstalkerCommand):
    """A command about one batch, whose number is its first argument."""

    def add_arguments(self, parser: ArgumentParser) -> None:
        """Declare the batch, after the options of every command."""
        super().add_arguments(parser)
        parser.add_argument("batch", type=int)


def input_error(message: str) -> CommandError:
    """Return the error for invalid input: one line and exit status 2."""
    return CommandError(" ".join(message.split()), returncode=2)


def interrupt_error() -> CommandError:
    """Return the error for Ctrl-C in a command that writes only at its end."""
    return CommandError("stopped; nothing was written", returncode=INTERRUPTED_STATUS)


def emit_json(command: BaseCommand, result: dict[str, Any]) -> None:
    """Print one JSON object; NaN raises, because JSON has none."""
    command.stdout.write(json.dumps(result, allow_nan=False))
