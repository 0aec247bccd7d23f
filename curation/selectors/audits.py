"""Queries on audits: their pairs, a reader's queue, and the labels."""

from collections import Counter
from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from typing import Any

import numpy as np
from django.contrib.auth.models import AbstractBaseUser
from django.db.models import Count, Max, Q, QuerySet

from curation.audits.answers import SETTLEMENT_KEY
from curation.audits.codebook import Codebook
from curation.audits.export import figures_document, json_rows
from curation.audits.figures import CodeFigures, LabelledItem, code_figures
from curation.audits.labels import ItemLabels, ReaderLabel, assign_letters, order_queue, reader_start_position
from curation.audits.parsing import codebook_from_row
from curation.audits.sampling import CandidatePair, SampleRecipe
from curation.models import AnalysisKind, Audit, AuditItem, AuditLabel, AuditState, TextAnalysis
from curation.selectors.pairs import accepted_pairs
from hits.domain.states import Role
from hits.models import Project
from hits.selectors.roles import has_role


@dataclass(frozen=True, slots=True)
class AuditRow:
    """An audit in the list, with its numbers of pairs, of labels, and of the user's own labels."""

    audit: Audit
    pairs: int
    labels: int
    own_labels: int

    @property
    def labels_needed(self) -> int:
        """The number of labels needed in total."""
        return self.pairs * self.audit.readers


def audit_rows(project: Project, reader: AbstractBaseUser) -> list[AuditRow]:
    """Return the project's audits, newest first; two queries. Surplus labels are not counted."""
    audits = Audit.objects.filter(project=project).select_related("created_by")
    readers: dict[int, Counter[int]] = {}
    own: Counter[int] = Counter()
    shown = {"item__audit__project": project, "item__observation__image__taken_down_at": None}
    labels = _reader_labels().filter(**shown)
    for audit, item, person in labels.values_list("item__audit_id", "item_id", "reader_id").distinct():
        readers.setdefault(audit, Counter())[item] += 1
        own[audit] += person == reader.pk
    available = Q(items__observation__image__taken_down_at=None)
    return [
        AuditRow(
            audit=row,
            pairs=row.pairs,
            labels=sum(min(count, row.readers) for count in readers.get(row.pk, Counter()).values()),
            own_labels=own[row.pk],
        )
        for row in audits.annotate(pairs=Count("items", filter=available))
    ]


def get_audit(project: Project, number: int) -> Audit | None:
    """Return the project's audit with this number."""
    return Audit.objects.filter(project=project, pk=number).select_related("project", "created_by").first()


def audit_codebook(audit: Audit) -> Codebook:
    """Return the audit's codebook, as frozen at its creation."""
    return codebook_from_row(audit.codebook)


def can_close(user: Any, audit: Audit) -> bool:
    """Whether this user may close the audit: project admins and its creator may."""
    return has_role(user, audit.project, Role.ADMIN) or audit.created_by_id == user.pk


def finished_toxicity_analyses(project: Project) -> list[TextAnalysis]:
    """Return the project's toxicity analyses, newest first."""
    finished = TextAnalysis.objects.filter(project=project, kind=AnalysisKind.TOXICITY, pairs__gt=0)
    return list(finished)


def auditable_pairs(project: Project, analysis: int | None = None) -> list[CandidatePair]:
    """Return the accepted pairs with the higher score of their two texts in an analysis; one query."""
    rows = accepted_pairs(project)
    if analysis is None:
        return [CandidatePair(*row) for row in rows.values_list("pk", "instance_id", "image__split")]
    scored = rows.annotate(top=Max("text_scores__score", filter=Q(text_scores__analysis=analysis)))
    return [CandidatePair(*row) for row in scored.values_list("pk", "instance_id", "image__split", "top")]


def _reader_labels() -> "QuerySet[AuditLabel]":
    """Return the labels by readers, without those by adjudicators."""
    return AuditLabel.objects.exclude(answers__has_key=SETTLEMENT_KEY)


def _available_items(audit: Audit) -> "QuerySet[AuditItem]":
    """Return the items whose photos have not been taken down."""
    return AuditItem.objects.filter(audit=audit, observation__image__taken_down_at=None)


@dataclass(frozen=True, slots=True)
class AuditQueue:
    """A reader's queue. Positions start at 1; ``waiting`` lists the unlabelled ones in the order of offering.

    ``position`` is the pair to show, if any; ``can_label`` is whether the reader may label it, ``is_complete``
    whether it has all its readers.
    """

    pairs: int
    done: frozenset[int]
    waiting: Sequence[int]
    position: int | None
    can_label: bool
    is_complete: bool
    previous: int | None
    following: int | None

    @property
    def is_done(self) -> bool:
        """Whether the reader has labelled the pair shown."""
        return self.position in self.done


def audit_queue(audit: Audit, reader: AbstractBaseUser, position: int | None = None) -> AuditQueue:
    """Return a reader's queue at a position, or at the next pair waiting for them; two queries."""
    positions = dict(_available_items(audit).values_list("pk", "position"))
    readers_at: dict[int, list[int]] = {}
    labels = _reader_labels().filter(item__audit=audit).order_by("pk").values_list("item_id", "reader_id")
    arrivals = list(dict.fromkeys(person for _, person in labels))
    for item, person in dict.fromkeys(labels):
        if item in positions:
            readers_at.setdefault(positions[item], []).append(person)
    done = frozenset(item_position for item_position, readers in readers_at.items() if reader.pk in readers)
    full = {item_position for item_position, readers in readers_at.items() if len(readers) >= audit.readers}
    rank = arrivals.index(reader.pk) if reader.pk in arrivals else len(arrivals)
    start = 1 + reader_start_position(rank, audit.readers, len(positions))
    is_open = audit.state == AuditState.OPEN
    waiting = (
        order_queue(
            [item_position for item_position in positions.values() if item_position not in full | done], start
        )
        if is_open
        else []
    )
    target = next(iter(waiting), None) if position is None else position
    position = target if target in positions.values() else None
    return AuditQueue(
        pairs=len(positions),
        done=done,
        waiting=waiting,
        position=position,
        can_label=is_open and position is not None and (position in done or position not in full),
        is_complete=position in full,
        previous=max(
            (item_position for item_position in done if position is None or item_position < position),
            default=None,
        ),
        following=_next_position(position, done, waiting),
    )


def _next_position(position: int | None, done: frozenset[int], waiting: Sequence[int]) -> int | None:
    """Return the next position that the reader has labelled or that waits, whichever comes first."""
    done_later = (found for found in done if position is not None and found > position)
    later = min(done_later, default=None)
    ahead = next((candidate for candidate in waiting if candidate != position), None)
    if later is None or ahead is None or position is None:
        return later or ahead
    return min(later, ahead) if ahead > position else later


def get_item(audit: Audit, position: int) -> AuditItem | None:
    """Return the item at a position with its pair and photo, or ``None`` if the photo was taken down."""
    return _available_items(audit).filter(position=position).select_related("observation__image").first()


def newest_label(item: AuditItem, reader: AbstractBaseUser) -> AuditLabel | None:
    """Return a reader's latest label of an item."""
    return _reader_labels().filter(item=item, reader_id=reader.pk).order_by("-pk").first()


@dataclass(frozen=True, slots=True)
class LabelledAudit:
    """All items of an audit with their labels. Readers are named by letters.

    ``taken_down`` counts the pairs left out because their photo was taken down.
    """

    items: Sequence[LabelledItem]
    reader_names: Mapping[str, str]
    taken_down: int

    @property
    def letters(self) -> list[str]:
        """The readers' letters, in order."""
        return list(self.reader_names)

    def item_at(self, position: int) -> LabelledItem | None:
        """Return the item at a position."""
        return next((item for item in self.items if item.position == position), None)


def load_labelled_audit(audit: Audit) -> LabelledAudit:
    """Return an audit with all its labels; three queries."""
    rows = list(
        AuditLabel.objects.filter(item__audit=audit)
        .order_by("pk")
        .values_list("item_id", "reader_id", "reader__username", "answers", "note")
    )
    names = {person: name for _, person, name, answers, _ in rows if SETTLEMENT_KEY not in answers}
    letter_of = assign_letters(names)
    labels: dict[int, list[ReaderLabel]] = {}
    for item, person, _, answers, note in rows:
        labels.setdefault(item, []).append(ReaderLabel(letter_of.get(person, ""), answers, note))
    items = [
        LabelledItem(key, position, split, score, ItemLabels.from_labels(labels.get(pk, ()), audit.readers))
        for pk, key, position, split, score in _available_items(audit).values_list(
            "pk", "observation__instance_id", "position", "split", "score"
        )
    ]
    taken_down = AuditItem.objects.filter(audit=audit).count() - len(items)
    return LabelledAudit(items, {letter_of[person]: name for person, name in names.items()}, taken_down)


def items_by_position(audit: Audit, positions: Sequence[int]) -> dict[int, AuditItem]:
    """Return the items at some positions with their pairs and photos; one query."""
    rows = _available_items(audit).filter(position__in=list(positions)).select_related("observation__image")
    return {row.position: row for row in rows}


def audit_figures(audit: Audit, labelled: LabelledAudit) -> list[CodeFigures]:
    """Return the figures of every code. The intervals are deterministic."""
    recipe = SampleRecipe.from_row(audit.sample)
    rng = np.random.default_rng(recipe.seed)
    return code_figures(labelled.items, audit_codebook(audit), method=recipe.method, rng=rng)


def audit_document(audit: Audit, labelled: LabelledAudit) -> dict[str, Any]:
    """Return an anonymous JSON document of an audit: codebook, sample, pairs with labels, figures."""
    codebook = audit_codebook(audit)
    return {
        "audit": audit.name,
        "project": audit.project.slug,
        "rehearsal": audit.project.is_rehearsal,
        "state": audit.state,
        "created_at": audit.created_at.isoformat(),
        "closed_at": audit.closed_at.isoformat() if audit.closed_at else None,
        "readers_each": audit.readers,
        "readers": labelled.letters,
        "codebook": codebook.as_row() | {"sha256": codebook.sha256},
        "sample": audit.sample,
        "taken_down": labelled.taken_down,
        "pairs": list(json_rows(labelled.items, codebook, is_open=audit.state == AuditState.OPEN)),
        "figures": figures_document(audit_figures(audit, labelled)),
    }
