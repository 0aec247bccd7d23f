"""Who may do a batch's tasks, in words for whoever launched it."""

from collections.abc import Sequence
from dataclasses import dataclass

from hits.domain.workers.countries import country_name
from hits.domain.workers.qualification_pools import Pool
from hits.domain.workers.requirements import Comparator
from hits.models import Batch, BatchRequirement

_HOLDERS = {
    Pool.QUALIFIED: "Qualified workers",
    Pool.TRAINED: "Trained workers",
    Pool.APPLIED: "Workers who handed in the qualification task",
}
_OTHERS = {Pool.APPLIED.value: "Workers who have not handed in the qualification task yet"}
_COMPARED = {
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
class WhoMay:
    """A batch's conditions in words. Excluded workers are never among them, so that is not repeated."""

    people: str
    countries: str
    each: str


def who_may(batch: Batch) -> WhoMay:
    """Return a batch's conditions in words; one query."""
    rows = list(batch.requirements.select_related("qualification"))
    return in_words([_people(row) for row in rows if row.qualification], _places(rows), batch.worker_limit)


def in_words(people: Sequence[str], places: Sequence[str], limit: int | None) -> WhoMay:
    """Return conditions in words; nothing said means that all are let in."""
    said = [words[:1].lower() + words[1:] for words in filter(None, people)]
    together = "; ".join(said)
    return WhoMay(
        people=together[:1].upper() + together[1:] or "Everybody",
        countries="; ".join(places) or "All countries",
        each=f"{limit} task{'s' if limit != 1 else ''}" if limit is not None else "As many as there are",
    )


def holders_of(pool: Pool) -> str:
    """Return what holders of a pool qualification are called."""
    return _HOLDERS.get(pool, f"Workers who hold “{pool.value}”")


def listed(codes: Sequence[str]) -> str:
    """Return countries as a list in a sentence."""
    names = [country_name(code) for code in codes]
    return f"{', '.join(names[:-1])} and {names[-1]}" if len(names) > 1 else "".join(names)


def _places(rows: Sequence[BatchRequirement]) -> list[str]:
    found = []
    for row in rows:
        if row.qualification is None:
            excluding = row.comparator in {Comparator.NOT_IN, Comparator.NOT_EQUAL_TO}
            found.append(f"All but {listed(row.values)}" if excluding else listed(row.values))
    return found


def _people(row: BatchRequirement) -> str:
    qualification = row.qualification
    assert qualification is not None
    slug, comparator = qualification.slug, Comparator(row.comparator)
    pool = Pool(slug) if slug in set(Pool) else None
    if comparator is Comparator.EXISTS:
        return holders_of(pool) if pool else f"Workers who hold “{qualification.name}”"
    if comparator is Comparator.DOES_NOT_EXIST:
        if pool is Pool.EXCLUDED:
            return ""
        return _OTHERS.get(slug) or f"Workers who do not hold “{qualification.name}”"
    values = ", ".join(map(str, row.values))
    return f"Workers whose “{qualification.name}” is {_COMPARED[comparator]} {values}"
