"""``manage.py check_ledger [--json]``: exit status 1 when the books do not agree."""

from typing import Any

from django.core.management.base import CommandError

from annotation_site.books import Difference, Sums, check_books
from hits.domain.money import format_usd
from hits.management.base import DeerstalkerCommand, emit_json


class Command(DeerstalkerCommand):
    """Compare the marketplace's entries with its balances, and our ledger with the marketplace's."""

    help = "Check that both ledgers and all balances agree to the cent; exit status 1 when they do not."

    def handle(self, *args: Any, **options: Any) -> None:
        """Compare, print, and fail on a difference."""
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
    return (
        f"batch {row.batch}: ours {_sums(row.ours)}, the marketplace's {_sums(row.marketplace)} "
        f"(look at the marketplace first: what was decided there meanwhile is booked then)"
    )


def _sums(sums: Sums) -> str:
    values = (("held", sums.held), ("rewards", sums.reward), ("bonuses", sums.bonus), ("fees", sums.fee))
    return ", ".join(f"{name} {format_usd(cents)}" for name, cents in values)
