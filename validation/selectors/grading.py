"""Grades as they count, and the pairs that wait. Nobody sees another's grade before giving their own."""

import uuid
from collections import defaultdict
from collections.abc import Iterable, Mapping, Sequence
from dataclasses import dataclass
from datetime import timedelta
from typing import Any

from django.contrib.auth.models import AbstractBaseUser
from django.db.models import QuerySet
from django.utils import timezone

from hits import registry
from hits.domain.answers.exam import GradableItem
from hits.domain.images.image_facts import ImageFacts
from hits.domain.states import AssignmentStatus, Match
from hits.models import Assignment
from hits.selectors.images.images import facts_of
from validation.models import Grade, QualificationRound

WINDOW = 30  # pairs that a grader's page has at hand
AT_IT = timedelta(minutes=10)  # a submission that a colleague graded that lately comes last


@dataclass(frozen=True, slots=True, order=True)
class Key:
    """One pair of one submission; ``item`` counts from 0."""

    submission: uuid.UUID
    item: int

    @classmethod
    def parse(cls, text: str) -> "Key | None":
        """Return the key that an address or a form names, or ``None`` when it names none."""
        submission, _, item = text.partition(":")
        try:
            return cls(uuid.UUID(submission), int(item))
        except ValueError:
            return None

    def __str__(self) -> str:
        return f"{self.submission}:{self.item}"


@dataclass(frozen=True, slots=True)
class Said:
    """One grade: by whom (row key and name), what, and why."""

    grader: int
    name: str
    reasonable: bool
    note: str


Grades = Mapping[uuid.UUID, Mapping[int, Sequence[Grade]]]


@dataclass(frozen=True, slots=True)
class Card:
    """One pair as the desk shows it. ``others`` stay empty until the grader has graded the pair, too."""

    key: Key
    worker: str
    image: ImageFacts
    photo: int
    photos: int
    pair: GradableItem
    description: str
    mine: Said | None
    others: Sequence[Said]
    waits: bool

    def as_page(self) -> dict[str, Any]:
        """Return what the desk's script needs."""
        return {
            "key": str(self.key),
            "worker": self.worker,
            "image": self.image.as_page(),
            "photo": self.photo,
            "photos": self.photos,
            "number": self.pair.number,
            "description": self.description,
            **{f"text-{place}": text for place, (_, text) in enumerate(self.pair.texts, start=1)},
            "note": self.pair.note,
            "mine": _as_page(self.mine) if self.mine else None,
            "others": [_as_page(said) for said in self.others],
            "waits": self.waits,
        }


@dataclass(frozen=True, slots=True)
class Desk:
    """What one grader has before them: some cards, and how many pairs wait for them in all."""

    cards: Sequence[Card]
    waiting: int
    place: int  # of the first card among those that wait, from 1; 0 when it does not wait
    previous: Key | None = None
    following: Key | None = None


def confirmed(found: QualificationRound) -> "QuerySet[Assignment]":
    """Return a round's confirmed submissions, oldest first, rejected ones included."""
    rows = Assignment.objects.filter(hit__unit__batch=found.batch_id, match=Match.MATCHED)
    return rows.select_related("submission__outcome", "worker", "hit__unit").order_by("submitted_at", "pk")


def to_grade(found: QualificationRound) -> "QuerySet[Assignment]":
    """Return what can be graded: confirmed, not rejected, not answered yet; oldest first."""
    return confirmed(found).exclude(status=AssignmentStatus.REJECTED).filter(submission__outcome=None)


def gradable(row: Assignment, kind: str) -> list[GradableItem]:
    """Return the pairs of a confirmed submission; its unit has to be at hand."""
    assert row.submission is not None
    return registry.get(kind).gradable(row.hit.unit.payload, row.submission.answer)


def grades_of(found: QualificationRound, *, only: uuid.UUID | None = None) -> Grades:
    """Return all grades of a round by submission and item, in the order of writing; one query."""
    rows = Grade.objects.filter(submission__attempt__hit__unit__batch=found.batch_id)
    if only is not None:
        rows = rows.filter(submission=only)
    result: dict[uuid.UUID, dict[int, list[Grade]]] = defaultdict(lambda: defaultdict(list))
    for row in rows.select_related("grader").order_by("pk"):
        result[row.submission_id][row.item].append(row)
    return result


def latest(rows: Iterable[Grade]) -> dict[int, Said]:
    """Return each grader's word on one pair: their latest grade. One that was taken back is none."""
    said: dict[int, Said] = {}
    for row in rows:
        said.pop(row.grader_id, None)
        if row.reasonable is not None:
            said[row.grader_id] = Said(row.grader_id, row.grader.get_username(), row.reasonable, row.note)
    return said


def blind(rows: Iterable[Grade]) -> tuple[bool, bool] | None:
    """Return what the first two graders of a pair said before either could see the other's, or ``None``.

    Later changes are left out: who has graded a pair is shown what others said of it. The grader with the smaller
    row key stands first, so that two people keep their places over a whole round.
    """
    said: dict[int, bool] = {}
    for row in rows:
        if row.reasonable is None:
            said.pop(row.grader_id, None)
            continue
        said[row.grader_id] = row.reasonable
        if len(said) > 1:
            first, second = (said[grader] for grader in sorted(said))
            return first, second
    return None


def desk(
    found: QualificationRound, grader: AbstractBaseUser, *, at: Key | None = None, after: Key | None = None
) -> Desk:
    """Return a grader's next pairs, oldest submission first.

    Args:
        at: begin with this pair, though it waits no more. after: begin behind this one.
    """
    rows = {row.submission.pk: row for row in to_grade(found) if row.submission is not None}
    pairs = {pk: gradable(row, found.batch.kind) for pk, row in rows.items()}
    grades = grades_of(found)
    order = [Key(pk, pair.item) for pk in _in_turn(found, rows, grades, grader) for pair in pairs[pk]]
    waiting = [key for key in order if _waits(_rows(grades, key), found.graders, grader.pk)]
    shown, place = _window(order, waiting, at, after)
    images = facts_of({pairs[key.submission][key.item].image for key in shown})
    waits = set(waiting)
    cards = [
        _card(
            key, rows[key.submission], pairs[key.submission], images, _rows(grades, key), grader, key in waits
        )
        for key in shown
    ]
    here = order.index(shown[0]) if shown else -1
    return Desk(
        cards=cards,
        waiting=len(waiting),
        place=place,
        previous=order[here - 1] if here > 0 else None,
        following=shown[1] if len(shown) > 1 else None,
    )


def _rows(grades: Grades, key: Key) -> Sequence[Grade]:
    return grades.get(key.submission, {}).get(key.item, ())


def _waits(rows: Sequence[Grade], graders: int, grader: int) -> bool:
    said = latest(rows)
    return grader not in said and len(said) < graders


def _in_turn(
    found: QualificationRound, rows: Mapping[uuid.UUID, Assignment], grades: Grades, grader: AbstractBaseUser
) -> list[uuid.UUID]:
    """Return submissions in their order; where one grader is enough, a colleague's present one comes last."""
    if found.graders > 1:
        return list(rows)
    since = timezone.now() - AT_IT
    taken = {
        pk
        for pk, items in grades.items()
        for given in items.values()
        for grade in given
        if grade.grader_id != grader.pk and grade.graded_at > since
    }
    return sorted(rows, key=lambda pk: pk in taken)  # sorting is stable: oldest first within both


def _window(order: list[Key], waiting: list[Key], at: Key | None, after: Key | None) -> tuple[list[Key], int]:
    """Return the keys to show, and the place of the first of them among those that wait."""
    places = {key: number for number, key in enumerate(order)}
    shown = waiting
    if after is not None and after in places:
        shown = [key for key in waiting if places[key] > places[after]]
    elif at is not None and at in places:
        later = [key for key in waiting if places[key] > places[at]]
        shown = [at, *later, *(key for key in waiting if places[key] < places[at])]
    place = waiting.index(shown[0]) + 1 if shown and shown[0] in waiting else 0
    return shown[:WINDOW], place


def _card(  # noqa: PLR0917 - private
    key: Key,
    row: Assignment,
    pairs: Sequence[GradableItem],
    images: Mapping[int, ImageFacts],
    grades: Sequence[Grade],
    grader: AbstractBaseUser,
    waits: bool,
) -> Card:
    assert row.submission is not None
    pair = pairs[key.item]
    photos = list(dict.fromkeys(other.image for other in pairs))
    said = latest(grades)
    mine = said.pop(grader.pk, None)
    return Card(
        key=key,
        worker=str(row.worker),
        image=images[pair.image],
        photo=photos.index(pair.image) + 1,
        photos=len(photos),
        pair=pair,
        description=_description(row.submission.answer, pair.image),
        mine=mine,
        others=tuple(said.values()) if mine is not None else (),
        waits=waits,
    )


def _description(answer: Mapping[str, Any], image: int) -> str:
    return next((str(part["description"]) for part in answer["images"] if part["image"] == image), "")


def _as_page(said: Said) -> dict[str, Any]:
    return {"name": said.name, "reasonable": said.reasonable, "note": said.note}
