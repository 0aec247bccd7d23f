"""Read audits: which pairs there are to read, what waits for a reader, what was read."""

from collections import Counter
from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from typing import Any

import numpy as np
from django.contrib.auth.models import AbstractBaseUser
from django.db.models import Count, Max, Q, QuerySet

from curation.audits.answers import SETTLES
from curation.audits.codebook import Codebook
from curation.audits.export import figures_document, items_document
from curation.audits.figures import CodeFigures, ReadItem, figures
from curation.audits.parsing import from_row
from curation.audits.readings import ItemReadings, Reading, first_place, letters, offered
from curation.audits.sampling import Pair, Recipe
from curation.models import AnalysisKind, Audit, AuditItem, AuditReading, AuditState, TextAnalysis
from curation.selectors import pairs as collected
from hits.domain.states import Role
from hits.models import Project
from hits.selectors.roles import may


@dataclass(frozen=True, slots=True)
class AuditRow:
    """An audit in the list: pairs, how many readings of those wanted are in, and how many are one's own."""

    audit: Audit
    pairs: int
    readings: int
    mine: int

    @property
    def wanted(self) -> int:
        """How many readings there are to be."""
        return self.pairs * self.audit.readers

    @property
    def percent(self) -> float:
        """How much is read, 0 to 100."""
        return 100 * self.readings / self.wanted if self.wanted else 0.0


def audit_rows(project: Project, reader: AbstractBaseUser) -> list[AuditRow]:
    """Return the project's audits, newest first; two queries. Surplus readings count for nothing."""
    audits = Audit.objects.filter(project=project).select_related("created_by")
    readers: dict[int, Counter[int]] = {}
    mine: Counter[int] = Counter()
    read = _readings().filter(item__audit__project=project, item__observation__image__withdrawn_at=None)
    for audit, item, person in read.values_list("item__audit_id", "item_id", "reader_id").distinct():
        readers.setdefault(audit, Counter())[item] += 1
        mine[audit] += person == reader.pk
    standing = Q(items__observation__image__withdrawn_at=None)
    return [
        AuditRow(
            audit=row,
            pairs=row.pairs,
            readings=sum(min(count, row.readers) for count in readers.get(row.pk, Counter()).values()),
            mine=mine[row.pk],
        )
        for row in audits.annotate(pairs=Count("items", filter=standing))
    ]


def audit_of(project: Project, number: int) -> Audit | None:
    """Return the project's audit of that number."""
    return Audit.objects.filter(project=project, pk=number).select_related("project", "created_by").first()


def codebook_of(audit: Audit) -> Codebook:
    """Return the codebook as it was frozen."""
    return from_row(audit.codebook)


def may_close(user: Any, audit: Audit) -> bool:
    """Tell whether this person may close the audit: the project's admins, and who began it."""
    return may(user, audit.project, Role.ADMIN) or audit.created_by_id == user.pk


def toxicity_analyses(project: Project) -> list[TextAnalysis]:
    """Return the project's analyses of toxicity, newest first."""
    finished = TextAnalysis.objects.filter(project=project, kind=AnalysisKind.TOXICITY, pairs__gt=0)
    return list(finished)


def pairs_to_read(project: Project, analysis: int | None = None) -> list[Pair]:
    """Return the accepted pairs with the higher of their two texts' scores in an analysis; one query."""
    rows = collected.accepted(project)
    if analysis is None:
        return [Pair(*row) for row in rows.values_list("pk", "instance_id", "image__split")]
    scored = rows.annotate(top=Max("text_scores__score", filter=Q(text_scores__analysis=analysis)))
    return [Pair(*row) for row in scored.values_list("pk", "instance_id", "image__split", "top")]


def _readings() -> "QuerySet[AuditReading]":
    """Return readings that are not there to settle a difference."""
    return AuditReading.objects.exclude(answers__has_key=SETTLES)


def _items(audit: Audit) -> "QuerySet[AuditItem]":
    """Return the items whose photos were not taken down since."""
    return AuditItem.objects.filter(audit=audit, observation__image__withdrawn_at=None)


@dataclass(frozen=True, slots=True)
class Desk:
    """What one reader has done (``mine``) and what waits for them, as places from 1 in the order of offering.

    ``place`` is the pair to show, if any; ``may_read`` tells whether it takes a reading of theirs, ``is_complete``
    whether it has all its readers.
    """

    pairs: int
    mine: frozenset[int]
    waiting: Sequence[int]
    place: int | None
    may_read: bool
    is_complete: bool
    previous: int | None
    following: int | None

    @property
    def is_mine(self) -> bool:
        """Whether the reader has read the pair that is shown."""
        return self.place in self.mine


def desk(audit: Audit, reader: AbstractBaseUser, place: int | None = None) -> Desk:
    """Return a reader's desk at a place, or at the next pair that waits for them; two queries."""
    places = dict(_items(audit).values_list("pk", "place"))
    people: dict[int, list[int]] = {}
    read = _readings().filter(item__audit=audit).order_by("pk").values_list("item_id", "reader_id")
    come = list(dict.fromkeys(person for _, person in read))
    for item, person in dict.fromkeys(read):
        if item in places:
            people.setdefault(places[item], []).append(person)
    mine = frozenset(at for at, readers in people.items() if reader.pk in readers)
    full = {at for at, readers in people.items() if len(readers) >= audit.readers}
    rank = come.index(reader.pk) if reader.pk in come else len(come)
    start = 1 + first_place(rank, audit.readers, len(places))
    is_open = audit.state == AuditState.OPEN
    waiting = offered([at for at in places.values() if at not in full | mine], start) if is_open else []
    wanted = next(iter(waiting), None) if place is None else place
    place = wanted if wanted in places.values() else None
    return Desk(
        pairs=len(places),
        mine=mine,
        waiting=waiting,
        place=place,
        may_read=is_open and place is not None and (place in mine or place not in full),
        is_complete=place in full,
        previous=max((at for at in mine if place is None or at < place), default=None),
        following=_following(place, mine, waiting),
    )


def _following(place: int | None, mine: frozenset[int], waiting: Sequence[int]) -> int | None:
    """Return the next of one's own places, else the first that waits and is not shown."""
    later = min((at for at in mine if place is not None and at > place), default=None)
    ahead = next((at for at in waiting if at != place), None)
    if later is None or ahead is None or place is None:
        return later or ahead
    return min(later, ahead) if ahead > place else later


def item_at(audit: Audit, place: int) -> AuditItem | None:
    """Return the item at a place with its pair and photo at hand; none when the photo was taken down."""
    return _items(audit).filter(place=place).select_related("observation__image").first()


def my_reading(item: AuditItem, reader: AbstractBaseUser) -> AuditReading | None:
    """Return what stands of a reader's own readings of an item."""
    return _readings().filter(item=item, reader_id=reader.pk).order_by("-pk").first()


@dataclass(frozen=True, slots=True)
class ReadAudit:
    """All items of an audit with their readings; readers are letters, and ``people`` tells who they are.

    ``taken_down`` counts the pairs that are left out because their photo was taken down since.
    """

    items: Sequence[ReadItem]
    people: Mapping[str, str]
    taken_down: int

    @property
    def letters(self) -> list[str]:
        """The readers' letters in order."""
        return list(self.people)

    def at(self, place: int) -> ReadItem | None:
        """Return the item at a place."""
        return next((item for item in self.items if item.place == place), None)


def read_audit(audit: Audit) -> ReadAudit:
    """Return an audit with all that was read; three queries."""
    rows = list(
        AuditReading.objects.filter(item__audit=audit)
        .order_by("pk")
        .values_list("item_id", "reader_id", "reader__username", "answers", "note")
    )
    names = {person: name for _, person, name, answers, _ in rows if SETTLES not in answers}
    letter = letters(names)
    readings: dict[int, list[Reading]] = {}
    for item, person, _, answers, note in rows:
        readings.setdefault(item, []).append(Reading(letter.get(person, ""), answers, note))
    items = [
        ReadItem(key, place, split, score, ItemReadings.of(readings.get(pk, ()), audit.readers))
        for pk, key, place, split, score in _items(audit).values_list(
            "pk", "observation__instance_id", "place", "split", "score"
        )
    ]
    gone = AuditItem.objects.filter(audit=audit).count() - len(items)
    return ReadAudit(items, {letter[person]: name for person, name in names.items()}, gone)


def pairs_at(audit: Audit, places: Sequence[int]) -> dict[int, AuditItem]:
    """Return the items at some places with their pairs and photos; one query."""
    rows = _items(audit).filter(place__in=list(places)).select_related("observation__image")
    return {row.place: row for row in rows}


def figures_of(audit: Audit, read: ReadAudit) -> list[CodeFigures]:
    """Return the figures of every code; the same readings give the same intervals wherever they are shown."""
    recipe = Recipe.from_row(audit.sample)
    rng = np.random.default_rng(recipe.seed)
    return figures(read.items, codebook_of(audit), how=recipe.how, rng=rng)


def document_of(audit: Audit, read: ReadAudit) -> dict[str, Any]:
    """Return an audit as one JSON document: codebook, sample, pairs with readings, figures. Nobody is named."""
    codebook = codebook_of(audit)
    return {
        "audit": audit.name,
        "project": audit.project.slug,
        "rehearsal": audit.project.is_rehearsal,
        "state": audit.state,
        "created_at": audit.created_at.isoformat(),
        "closed_at": audit.closed_at.isoformat() if audit.closed_at else None,
        "readers_each": audit.readers,
        "readers": read.letters,
        "codebook": codebook.as_row() | {"sha256": codebook.sha256},
        "sample": audit.sample,
        "taken_down": read.taken_down,
        "pairs": list(items_document(read.items, codebook, is_open=audit.state == AuditState.OPEN)),
        "figures": figures_document(figures_of(audit, read)),
    }
