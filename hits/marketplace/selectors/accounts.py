"""Requesters' accounts for platform admins, and the check that the ledger matches the balances."""

from dataclasses import dataclass

from django.db.models import Count, Q, QuerySet, Sum

from hits.marketplace.models import EntryKind, LedgerEntry, Requester

SPENDING_KINDS = (EntryKind.REWARD, EntryKind.BONUS, EntryKind.FEE)


@dataclass(frozen=True)
class RequesterAccount:
    """A requester with sums over its ledger entries, and its number of HITs."""

    requester: Requester
    deposited_cents: int
    spent_cents: int
    hit_count: int


def list_accounts() -> list[RequesterAccount]:
    """Return all requesters by name."""
    spent = Q(ledger__kind__in=SPENDING_KINDS)
    requesters = Requester.objects.annotate(
        deposited=Sum("ledger__available_cents", filter=Q(ledger__kind=EntryKind.DEPOSIT), default=0),
        from_available=Sum("ledger__available_cents", filter=spent, default=0),
        from_held=Sum("ledger__held_cents", filter=spent, default=0),
    ).order_by("name")
    hits = dict(Requester.objects.annotate(n=Count("hits")).values_list("pk", "n"))
    return [
        RequesterAccount(row, row.deposited, -(row.from_available + row.from_held), hits[row.pk])
        for row in requesters
    ]


def list_latest_entries(limit: int = 30) -> QuerySet[LedgerEntry]:
    """Return the latest entries, newest first."""
    return LedgerEntry.objects.select_related("requester", "hit__hit_type").order_by("-pk")[:limit]


def find_unbalanced_requesters() -> list[str]:
    """Return the names of requesters whose balances differ from the sum of their entries (expected: none)."""
    return [
        row.name
        for row in Requester.objects.annotate(
            available=Sum("ledger__available_cents", default=0), held=Sum("ledger__held_cents", default=0)
        )
        if (row.available, row.held) != (row.available_cents, row.held_cents)
    ]
