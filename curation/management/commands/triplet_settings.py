"""``manage.py triplet_settings --project P [--readers N] [--prices FILE] [--licence GENERATOR=LICENCE …] …``."""

from argparse import ArgumentParser
from pathlib import Path
from typing import Any

from django.contrib.auth import get_user_model
from django.contrib.auth.models import AbstractBaseUser

from curation.management.triplet_options import find_triplet_project, read_file
from curation.services.triplets.settings import SettingsChange, change_settings
from hits.domain.answers.scene_facets import DOMAINS
from hits.management.base import DeerstalkerCommand, input_error

SWITCH = ("on", "off")


class Command(DeerstalkerCommand):
    """Show or change a project's settings for image triplets."""

    help = "Show a project's settings for image triplets; each option changes one."

    def add_arguments(self, parser: ArgumentParser) -> None:
        """Declare the flags."""
        super().add_arguments(parser)
        add = parser.add_argument
        add("--project", required=True, help="the project's short name")
        add(
            "--readers",
            type=int,
            help="people who decide about a scene, 1 or 2; each without seeing the other",
        )
        add("--domains", help="domains that writers choose from, separated by commas")
        add("--prices", type=Path, metavar="FILE.toml", help="the price table of generators and chat models")
        add(
            "--licence",
            action="append",
            default=[],
            metavar="GENERATOR=LICENCE",
            help="the licence of a generator's images; may be repeated",
        )
        add(
            "--hold-answers",
            choices=SWITCH,
            help="whether versions keep gold and texts back for a leaderboard",
        )
        add(
            "--unknown-licence",
            choices=SWITCH,
            help="whether real versions take images of unknown licence; on needs --by",
        )
        add("--by", default="", metavar="ADMIN", help="the account of the admin who allows unknown licences")

    def handle(self, *args: Any, **options: Any) -> None:
        """Change what is given, and print everything."""
        project = find_triplet_project(options["project"])
        licences = {}
        for text in options["licence"]:
            name, separator, licence = text.rpartition("=")
            if not separator or not name.strip():
                raise input_error(f"--licence {text!r}: write GENERATOR=LICENCE")
            licences[name.strip()] = licence.strip()
        prices = None
        if options["prices"]:
            try:
                prices = read_file(options["prices"], "--prices").decode("utf-8")
            except UnicodeDecodeError as error:
                raise input_error(f"--prices {options['prices']}: is no UTF-8 text") from error
        change = SettingsChange(
            readers=options["readers"],
            domains=None if options["domains"] is None else options["domains"].split(","),
            prices=prices,
            licences=licences,
            holds_answers=_switch(options["hold_answers"]),
            allows_unknown_licence=_switch(options["unknown_licence"]),
        )
        row = change_settings(project=project, change=change, by=_account(options["by"]))
        facts = {
            "readers": row.readers,
            "domains": row.domains,
            "licences": row.licences,
            "has_prices": bool(row.prices),
            "holds_answers": row.holds_answers,
            "unknown_licence": row.unknown_licence_allowed_by_id is not None,
        }
        stored = ", ".join(f"{name} = {licence}" for name, licence in row.licences.items())
        self.report(
            options,
            facts,
            f"readers: {row.readers}",
            f"domains: {', '.join(row.domains or DOMAINS)}",
            f"licences: {stored or 'none'}",
            f"price table: {'stored' if row.prices else 'none'}",
            f"answers of versions: {'held back' if row.holds_answers else 'public'}",
            f"unknown licences: {'allowed' if facts['unknown_licence'] else 'not allowed'}",
        )


def _switch(value: str | None) -> bool | None:
    return None if value is None else value == SWITCH[0]


def _account(name: str) -> AbstractBaseUser | None:
    """Return the account of a name; ``None`` without one."""
    if not name:
        return None
    account: AbstractBaseUser | None = get_user_model().objects.filter(username=name).first()
    if account is None:
        raise input_error(f"--by {name}: there is no such account; name an admin's")
    return account
