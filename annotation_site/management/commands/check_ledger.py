"""``manage.py check_ledger [--book-bonuses] [--json]``: exit status 1 when the ledgers differ."""

from argparse import ArgumentParser
from typing import Any

from django.core.management.base import CommandError

from annotation_site.ledgers import (
    LedgerDifference,
    LedgerSums,
    ScriptBonus,
    compare_ledgers,
    post_script_bonuses,
)
from hits.domain.money.usd import format_bare_usd
from hits.management.base import DeerstalkerCommand

MAX_NAMED = 20  # bonuses in a line; --json names all


class Command(DeerstalkerCommand):
    """Compare the marketplace's entries with its balances, and our ledger with the marketplace's."""

    help = "Check that our ledger, the marketplace's and all balances agree to the cent; exits with 1 if not."

    def add_arguments(self, parser: ArgumentParser) -> None:
        """Declare the flags."""
        super().add_arguments(parser)
        parser.add_argument(
            "--book-bonuses",
            action="store_true",
            help="first add to our ledger the bonuses that scripts sent with the account's key; sends no money",
        )

    def handle(self, *args: Any, **options: Any) -> None:
        """Compare, print, and fail on a difference."""
        if options["book_bonuses"]:
            self.stderr.write(f"{post_script_bonuses()} bonuses posted to our ledger")
        report = compare_ledgers()
        agreement = [f"the ledgers agree; {report.compared_count} batches compared"] if report.agrees else []
        self.report(options, report.as_json(), *agreement)
        if report.agrees:
            return
        found = [f"{name}: the balance is not the sum of its entries" for name in report.requesters]
        found += [f"payout {pk}: its ledger entry is missing or differs" for pk in report.payouts]
        found += [_describe_difference(row) for row in report.batches]
        raise CommandError("the ledgers differ: " + "; ".join(found), returncode=1)


def _describe_difference(row: LedgerDifference) -> str:
    message = (
        f"batch {row.batch}: ours {_describe_sums(row.ours)}, the marketplace's {_describe_sums(row.marketplace)} "
        f"(run sync_batch {row.batch} first: it posts the marketplace's latest decisions)"
    )
    return f"{message}; {_describe_bonuses(row.scripts_bonuses)}" if row.scripts_bonuses else message


def _describe_bonuses(rows: list[ScriptBonus]) -> str:
    """Name the bonuses that only the marketplace has, and the fix. (By assignment id, never by worker id.)"""
    named = [
        f"bonus {row.bonus} of {format_bare_usd(row.amount_cents)} with a fee of {format_bare_usd(row.fee_cents)} "
        f"for assignment {row.assignment_id}"
        for row in rows[:MAX_NAMED]
    ]
    more = [f"{len(rows) - MAX_NAMED} more (see --json)"] if len(rows) > MAX_NAMED else []
    return (
        f"sent by a script with the account's key and missing in our ledger: {', '.join([*named, *more])} "
        "(they are paid already: check_ledger --book-bonuses posts them to our ledger)"
    )


def _describe_sums(sums: LedgerSums) -> str:
    values = (("held", sums.held), ("rewards", sums.reward), ("bonuses", sums.bonus), ("fees", sums.fee))
    return ", ".join(f"{name} {format_bare_usd(cents)}" for name, cents in values)
