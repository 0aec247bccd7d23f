"""How many items of a submission earn a bonus."""

from collections import Counter

from django.db.models import Count, Q, QuerySet

from hits import registry
from hits.models import Assignment

CHUNK_SIZE = 500  # keys per query


def bonus_items_by_assignment(rows: "QuerySet[Assignment]") -> Counter[int]:
    """Return the number of bonus items by assignment; one query, plus one per 500 answers without records.

    The records of a submission say which items earn a bonus. Only answers without records are read themselves.

    Args:
        rows: matched assignments of batches whose kind pays bonuses.
    """
    counts = (
        rows.order_by()
        .values_list("pk")
        .annotate(
            written=Count("submission__records"),
            paid=Count("submission__records", filter=Q(submission__records__bonus=True)),
        )
    )
    items_by_assignment: Counter[int] = Counter()
    without_records: list[int] = []
    for pk, record_count, bonus_count in counts.iterator(chunk_size=5_000):
        if record_count:
            items_by_assignment[pk] = bonus_count
        else:
            without_records.append(pk)
    for first in range(0, len(without_records), CHUNK_SIZE):
        items_by_assignment.update(_bonus_items_in_answers(without_records[first : first + CHUNK_SIZE]))
    return items_by_assignment


def _bonus_items_in_answers(keys: list[int]) -> Counter[int]:
    answers = Assignment.objects.filter(pk__in=keys).order_by()
    values = answers.values_list("pk", "hit__unit__batch__kind", "submission__answer")
    return Counter({pk: registry.get_kind(kind).bonus_items(answer) for pk, kind, answer in values})
