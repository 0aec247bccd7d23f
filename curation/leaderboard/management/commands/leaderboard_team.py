"""``manage.py leaderboard_team LEADERBOARD NAME [--new-key | --activate | --deactivate]``: manage teams."""

from argparse import ArgumentParser
from typing import Any

from curation.leaderboard.models import Leaderboard, LeaderboardTeam
from curation.leaderboard.services.boards import add_team, renew_team_key, set_team_is_active
from hits.management.base import DeerstalkerCommand, input_error


class Command(DeerstalkerCommand):
    """Add a team to a leaderboard and print its key, which is not stored; or change a team."""

    help = "Add a team to a leaderboard and print its key; or give a team a new key, activate it or deactivate it."
    has_version_option = True

    def add_arguments(self, parser: ArgumentParser) -> None:
        """Add the options."""
        super().add_arguments(parser)
        add = parser.add_argument
        add("leaderboard", help="the leaderboard's short name, as in its address")
        add("name", help="the team's name, as in the table")
        add("--version", help="refuse the command unless the leaderboard is of this version")
        actions = parser.add_mutually_exclusive_group()
        actions.add_argument(
            "--new-key", action="store_true", help="print a new key; the old key stops working"
        )
        actions.add_argument("--activate", action="store_true", help="let the team submit again")
        actions.add_argument("--deactivate", action="store_true", help="stop the team from submitting")

    def handle(self, *args: Any, **options: Any) -> None:
        """Add or change the team, and print its new key if it has one."""
        board = _find_board(options["leaderboard"], options["version"])
        key = ""
        if options["new_key"]:
            team = _find_team(board, options["name"])
            key = renew_team_key(team=team, by=None)
        elif options["activate"] or options["deactivate"]:
            team = _find_team(board, options["name"])
            set_team_is_active(team=team, is_active=options["activate"], by=None)
        else:
            team, key = add_team(board=board, name=options["name"], by=None)
        facts = {"leaderboard": board.slug, "team": team.name, "is_active": team.is_active, "key": key}
        self.report(options, facts, key or f"{team.name}: {'active' if team.is_active else 'not active'}")


def _find_board(slug: str, version: str | None) -> Leaderboard:
    found = Leaderboard.objects.select_related("project", "version").filter(slug=slug).first()
    if found is None:
        known = ", ".join(Leaderboard.objects.values_list("slug", flat=True)[:10]) or "none yet"
        raise input_error(f"leaderboard {slug}: there is no such leaderboard; known: {known}")
    if version is not None and version != found.version.name:
        problem = f"leaderboard {slug} is of {found.version.name}; name another leaderboard"
        raise input_error(f"--version {version}: {problem}")
    return found


def _find_team(board: Leaderboard, name: str) -> LeaderboardTeam:
    teams = LeaderboardTeam.objects.filter(leaderboard=board).select_related("leaderboard__project")
    found = teams.filter(name=name).first()
    if found is None:
        known = ", ".join(teams.values_list("name", flat=True)[:10]) or "none yet"
        raise input_error(f"team {name}: there is no such team; known: {known}")
    return found
