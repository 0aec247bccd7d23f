"""How many items of a submission a bonus is paid for."""

from collections import Counter

from django.db.models import Count, Q, QuerySet

from hits import registry
from hits.models import Assignment

MANY = 500  # keys named in one query


def bonus_items(rows: "QuerySet[Assignment]") -> Counter[int]:
    """Return by assignment how many of its items a bonus is promised for; one query, and no answer is read twice.

    What was collected says it in its rows. Only answers of which nothing was written down are read themselves, 500
    by a query.

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
    found: Counter[int] = Counter()
    unwritten: list[int] = []
    for pk, written, paid in counts.iterator(chunk_size=5_000):
        if written:
            found[pk] = paid
        else:
            unwritten.append(pk)
    for first in range(0, len(unwritten), MANY):
        found.update(_of_answers(unwritten[first : first + MANY]))
    return found


def _of_answers(keys: list[int]) -> Counter[int]:
    answers = Assignment.objects.filter(pk__in=keys).order_by()
    values = answers.values_list("pk", "hit__unit__batch__kind", "submission__answer")
    return Counter({pk: registry.get(kind).bonus_items(answer) for pk, kind, answer in values})
