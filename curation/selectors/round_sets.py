"""Queries on a comparison round's sets and its skipped pairs, for lists in pages."""

from collections.abc import Mapping
from dataclasses import dataclass
from enum import StrEnum
from typing import Any

from django.db.models import Q, QuerySet

from curation.models import ComparisonRound, ComparisonSet, Pair


class SetOrder(StrEnum):
    """The order in which sets are listed."""

    HIGHEST_FIRST = "promising"
    LOWEST_FIRST = "least-promising"
    FEWEST_CANDIDATES = "fewest"


_ORDERS = {
    SetOrder.HIGHEST_FIRST: ("rank",),
    SetOrder.LOWEST_FIRST: ("-rank",),
    SetOrder.FEWEST_CANDIDATES: ("scores__available", "rank"),
}


@dataclass(frozen=True, slots=True)
class SkippedPair:
    """A pair without a set: its published id, the reason, and its number of candidates (``None`` if not counted)."""

    instance: str
    reason: str
    available: int | None


def find_sets(
    comparison_round: ComparisonRound,
    *,
    text: str = "",
    split: str = "",
    order: SetOrder = SetOrder.HIGHEST_FIRST,
) -> "QuerySet[ComparisonSet]":
    """Return a round's sets of a split that have ``text`` in the pair, a candidate or the photo's name."""
    rows = comparison_round.sets.select_related("observation__image").order_by(*_ORDERS[order])
    if split:
        rows = rows.filter(observation__image__split=split)
    return rows.filter(_text_filter(comparison_round, text)) if text else rows


def _text_filter(comparison_round: ComparisonRound, text: str) -> Q:
    pairs = Pair.objects.filter(project=comparison_round.project_id, type=Pair.TYPE)
    matching = pairs.filter(fields__inference__icontains=text)
    ids = set(matching.values_list("instance_id", flat=True))
    rows = comparison_round.sets.values_list("pk", "chosen")
    holding = [pk for pk, chosen in rows if not ids.isdisjoint(chosen)]
    return (
        Q(observation__fields__inference__icontains=text)
        | Q(observation__fields__clue__icontains=text)
        | Q(observation__image__name__icontains=text)
        | Q(pk__in=holding)
    )


def round_splits(comparison_round: ComparisonRound) -> list[str]:
    """Return the splits of the photos of a round's sets, without the empty one."""
    named = comparison_round.sets.exclude(observation__image__split="").order_by()
    return sorted(set(named.values_list("observation__image__split", flat=True)))


def skipped_pairs(comparison_round: ComparisonRound, reason: str = "") -> list[SkippedPair]:
    """Return the pairs without a set, for one reason or all; those with the most candidates first."""
    skipped: Mapping[str, list[dict[str, Any]]] = comparison_round.skipped
    rows = [
        SkippedPair(str(row["instance"]), name, row.get("available"))
        for name, listed in skipped.items()
        if reason in {"", name}
        for row in listed
    ]
    return sorted(rows, key=lambda row: -1 if row.available is None else row.available, reverse=True)


def candidate_counts(comparison_round: ComparisonRound) -> list[int]:
    """Return the number of candidates of each pair, with or without a set, in ascending order."""
    with_set = [row.get("available") for row in comparison_round.sets.values_list("scores", flat=True)]
    without = [row.available for row in skipped_pairs(comparison_round)]
    return sorted(count for count in [*with_set, *without] if isinstance(count, int))
