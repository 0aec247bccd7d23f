"""How many items of a submission a bonus is paid for."""

from collections import Counter

from django.db.models import Count, Exists, OuterRef, QuerySet

from hits import registry
from hits.models import Assignment, Observation


def bonus_items(rows: "QuerySet[Assignment]") -> Counter[int]:
    """Return by assignment how many of its items a bonus is promised for; two queries, and no answer is read twice.

    What was collected says it in its rows. Only answers of which nothing was written down are read themselves.

    Args:
        rows: matched assignments of batches whose kind pays bonuses.
    """
    paid = Observation.objects.filter(submission__assignment__in=rows.order_by(), bonus=True).order_by()
    found = Counter(dict(paid.values_list("submission__assignment").annotate(Count("pk"))))
    written = Observation.objects.filter(submission=OuterRef("submission"))
    unwritten = rows.filter(~Exists(written)).order_by()
    answers = unwritten.values_list("pk", "hit__unit__batch__kind", "submission__answer")
    for pk, kind, answer in answers.iterator(chunk_size=1_000):
        found[pk] += registry.get(kind).bonus_items(answer)
    return found
