"""``manage.py check_ledger [--book-bonuses] [--json]``: exit status 1 when the books do not agree."""

from argparse import ArgumentParser
from typing import Any

from django.core.management.base import CommandError

from annotation_site.ledgers import Difference, ScriptsBonus, Sums, book_scripts_bonuses, check_books
from hits.domain.money.usd import format_usd
from hits.management.base import DeerstalkerCommand, emit_json

MAX_NAMED = 20  # bonuses in a line; --json names all


class Command(DeerstalkerCommand):
    """Compare the marketplace's entries with its balances, and our ledger with the marketplace's."""

    help = "Check that both ledgers and all balances agree to the cent; exit status 1 when they do not."

    def add_arguments(self, parser: ArgumentParser) -> None:
        """Declare the flags."""
        super().add_arguments(parser)
        parser.add_argument(
            "--book-bonuses",
            action="store_true",
            help="first write the bonuses that scripts sent with the account's key into our ledger; sends nothing",
        )

    def handle(self, *args: Any, **options: Any) -> None:
        """Compare, print, and fail on a difference."""
        if options["book_bonuses"]:
            self.stderr.write(f"{book_scripts_bonuses()} bonuses were written into our ledger")
        report = check_books()
        if options["json"]:
            emit_json(self, report.as_json())
        elif report.agrees:
            self.stdout.write(f"the books agree; {report.compared} batches were compared")
        if report.agrees:
            return
        lines = [f"{name}: the balance is not the sum of its entries" for name in report.requesters]
        lines += [f"payout {pk}: its ledger entry is missing or differs" for pk in report.payouts]
        lines += [_in_words(row) for row in report.batches]
        raise CommandError("the books do not agree: " + "; ".join(lines), returncode=1)


def _in_words(row: Difference) -> str:
    words = (
        f"batch {row.batch}: ours {_sums(row.ours)}, the marketplace's {_sums(row.marketplace)} "
        f"(look at the marketplace first, with sync_batch {row.batch}: what was decided there meanwhile is booked "
        "then)"
    )
    return f"{words}; {_bonuses(row.scripts_bonuses)}" if row.scripts_bonuses else words


def _bonuses(rows: list[ScriptsBonus]) -> str:
    """Say which bonuses are the marketplace's alone, and what to do. (An assignment's id, never a worker's.)"""
    named = [
        f"bonus {row.bonus} of {format_usd(row.amount_cents)} with a fee of {format_usd(row.fee_cents)} "
        f"for assignment {row.assignment_id}"
        for row in rows[:MAX_NAMED]
    ]
    more = [f"{len(rows) - MAX_NAMED} more (see --json)"] if len(rows) > MAX_NAMED else []
    return (
        f"sent by a script with the account's key and unknown to our ledger: {', '.join([*named, *more])} "
        "(they are paid and stay paid: check_ledger --book-bonuses writes them into our ledger)"
    )


def _sums(sums: Sums) -> str:
    values = (("held", sums.held), ("rewards", sums.reward), ("bonuses", sums.bonus), ("fees", sums.fee))
    return ", ".join(f"{name} {format_usd(cents)}" for name, cents in values)
