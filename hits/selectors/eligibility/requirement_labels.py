"""Labels of a batch's requirements for the researcher who launched it."""

from collections.abc import Sequence
from dataclasses import dataclass

from hits.domain.workers.countries import country_name_or_code
from hits.domain.workers.qualification_pools import Pool
from hits.domain.workers.requirements import Comparator
from hits.models import Batch, BatchRequirement

_POOL_LABELS = {
    Pool.QUALIFIED: "Qualified workers",
    Pool.TRAINED: "Trained workers",
    Pool.WORK_REVIEWERS: "Work reviewers",
    Pool.APPLIED: "Workers who submitted the qualification task",
}
_OUTSIDE_POOL_LABELS = {Pool.APPLIED.value: "Workers who have not submitted the qualification task"}
_COMPARATOR_LABELS = {
    Comparator.LESS_THAN: "below",
    Comparator.LESS_THAN_OR_EQUAL_TO: "at most",
    Comparator.GREATER_THAN: "above",
    Comparator.GREATER_THAN_OR_EQUAL_TO: "at least",
    Comparator.EQUAL_TO: "exactly",
    Comparator.NOT_EQUAL_TO: "other than",
    Comparator.IN: "one of",
    Comparator.NOT_IN: "none of",
}


@dataclass(frozen=True, slots=True)
class EligibilitySummary:
    """Labels of a batch's requirements. Excluded workers never qualify, so no label repeats that."""

    workers: str
    countries: str
    tasks_per_worker: str


def batch_eligibility_summary(batch: Batch) -> EligibilitySummary:
    """Return the labels of a batch's requirements; one query."""
    rows = list(batch.requirements.select_related("qualification"))
    return summarize_eligibility(
        [_worker_label(row) for row in rows if row.qualification], _country_labels(rows), batch.worker_limit
    )


def summarize_eligibility(
    workers: Sequence[str], places: Sequence[str], limit: int | None
) -> EligibilitySummary:
    """Return the labels of requirements; an empty list means no restriction."""
    lowered = [label[:1].lower() + label[1:] for label in filter(None, workers)]
    joined = "; ".join(lowered)
    return EligibilitySummary(
        workers=joined[:1].upper() + joined[1:] or "All workers",
        countries="; ".join(places) or "All countries",
        tasks_per_worker=f"{limit} task{'s' if limit != 1 else ''}" if limit is not None else "No limit",
    )


def pool_label(pool: Pool) -> str:
    """Return the label of the workers who hold a pool qualification."""
    return _POOL_LABELS.get(pool, f"Workers who hold “{pool.value}”")


def join_country_names(codes: Sequence[str]) -> str:
    """Return the names of countries, joined with commas and “and”."""
    names = [country_name_or_code(code) for code in codes]
    return f"{', '.join(names[:-1])} and {names[-1]}" if len(names) > 1 else "".join(names)


def _country_labels(rows: Sequence[BatchRequirement]) -> list[str]:
    labels = []
    for row in rows:
        if row.qualification is None:
            excluding = row.comparator in {Comparator.NOT_IN, Comparator.NOT_EQUAL_TO}
            names = join_country_names(row.values)
            labels.append(f"All except {names}" if excluding else names)
    return labels


def _worker_label(row: BatchRequirement) -> str:
    qualification = row.qualification
    assert qualification is not None
    slug, comparator = qualification.slug, Comparator(row.comparator)
    pool = Pool(slug) if slug in set(Pool) else None
    if comparator is Comparator.EXISTS:
        return pool_label(pool) if pool else f"Workers who hold “{qualification.name}”"
    if comparator is Comparator.DOES_NOT_EXIST:
        if pool is Pool.EXCLUDED:
            return ""
        return _OUTSIDE_POOL_LABELS.get(slug) or f"Workers who do not hold “{qualification.name}”"
    values = ", ".join(map(str, row.values))
    return f"Workers whose “{qualification.name}” is {_COMPARATOR_LABELS[comparator]} {values}"
