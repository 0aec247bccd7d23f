"""Read grades and the pairs that wait for grades. Graders see others' grades of a pair only after their own."""

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
from hits.domain.states import AssignmentStatus, SubmissionMatch
from hits.models import Assignment
from hits.selectors.images.images import image_facts_by_id
from validation.models import Grade, QualificationRound

MAX_CARDS = 30  # pairs on a grader's page
RECENT_GRADING = timedelta(minutes=10)  # a submission that a colleague graded so recently comes last


@dataclass(frozen=True, slots=True, order=True)
class PairKey:
    """The key of a pair: its submission, and its index from 0."""

    submission: uuid.UUID
    item: int

    @classmethod
    def parse(cls, text: str) -> "PairKey | None":
        """Parse the key in a URL or a form; ``None`` if it is invalid."""
        submission, _, item = text.partition(":")
        try:
            return cls(uuid.UUID(submission), int(item))
        except ValueError:
            return None

    def __str__(self) -> str:
        return f"{self.submission}:{self.item}"


@dataclass(frozen=True, slots=True)
class GivenGrade:
    """One grader's latest grade of a pair: the grader (primary key and name), the grade, and the note."""

    grader: int
    name: str
    reasonable: bool
    note: str


GradesByPair = Mapping[uuid.UUID, Mapping[int, Sequence[Grade]]]


@dataclass(frozen=True, slots=True)
class PairCard:
    """A pair as the grading page shows it. ``other_grades`` stays empty until this grader has graded the pair."""

    key: PairKey
    worker: str
    image: ImageFacts
    photo_number: int
    photo_count: int
    pair: GradableItem
    own_grade: GivenGrade | None
    other_grades: Sequence[GivenGrade]
    is_waiting: bool

    def as_page_dict(self) -> dict[str, Any]:
        """Return the JSON data for the page's script."""
        return {
            "key": str(self.key),
            "worker": self.worker,
            "image": self.image.as_page_dict(),
            "photo": self.photo_number,
            "photos": self.photo_count,
            "number": self.pair.number,
            "caption": self.pair.caption[1],
            **{f"text-{number}": text for number, (_, text) in enumerate(self.pair.texts, start=1)},
            "note": self.pair.note,
            "marks": list(self.pair.marks),
            "mine": _grade_as_page_dict(self.own_grade) if self.own_grade else None,
            "others": [_grade_as_page_dict(grade) for grade in self.other_grades],
            "waits": self.is_waiting,
        }


@dataclass(frozen=True, slots=True)
class GradingQueue:
    """One grader's queue: its first cards, and the total number of pairs that wait."""

    cards: Sequence[PairCard]
    waiting: int
    position: int  # of the first card among the waiting pairs, from 1; 0 if it does not wait
    previous: PairKey | None = None
    following: PairKey | None = None


def confirmed_submissions(qualification_round: QualificationRound) -> "QuerySet[Assignment]":
    """Return a round's confirmed submissions, rejected ones included, oldest first."""
    rows = Assignment.objects.filter(
        hit__unit__batch=qualification_round.batch_id, match=SubmissionMatch.MATCHED
    )
    return rows.select_related("submission__outcome", "worker", "hit__unit").order_by("submitted_at", "pk")


def gradable_submissions(qualification_round: QualificationRound) -> "QuerySet[Assignment]":
    """Return the confirmed submissions that are not rejected and have no outcome yet, oldest first."""
    return (
        confirmed_submissions(qualification_round)
        .exclude(status=AssignmentStatus.REJECTED)
        .filter(submission__outcome=None)
    )


def gradable_pairs(row: Assignment, kind: str) -> list[GradableItem]:
    """Return the pairs of a confirmed submission; select its unit in the query that loads ``row``."""
    assert row.submission is not None
    return registry.get_kind(kind).gradable_items(row.hit.unit.payload, row.submission.answer)


def load_grades(qualification_round: QualificationRound) -> GradesByPair:
    """Return a round's grades by submission and pair, in the order of creation; one query."""
    rows = Grade.objects.filter(submission__attempt__hit__unit__batch=qualification_round.batch_id)
    result: dict[uuid.UUID, dict[int, list[Grade]]] = defaultdict(lambda: defaultdict(list))
    for row in rows.select_related("grader").order_by("pk"):
        result[row.submission_id][row.item].append(row)
    return result


def latest_grades_by_grader(rows: Iterable[Grade]) -> dict[int, GivenGrade]:
    """Return each grader's latest grade of a pair, without withdrawn ones."""
    by_grader: dict[int, GivenGrade] = {}
    for row in rows:
        by_grader.pop(row.grader_id, None)
        if row.reasonable is not None:
            by_grader[row.grader_id] = GivenGrade(
                row.grader_id, row.grader.get_username(), row.reasonable, row.note
            )
    return by_grader


def two_blind_grades(rows: Iterable[Grade]) -> tuple[bool, bool] | None:
    """Return the first two graders' grades of a pair from before either could see the other's, or ``None``.

    Later changes are not blind and are left out. The grader with the smaller primary key comes first, so that two
    graders keep the same order throughout a round.
    """
    by_grader: dict[int, bool] = {}
    for row in rows:
        if row.reasonable is None:
            by_grader.pop(row.grader_id, None)
            continue
        by_grader[row.grader_id] = row.reasonable
        if len(by_grader) > 1:
            first, second = (by_grader[grader] for grader in sorted(by_grader))
            return first, second
    return None


def grading_queue(
    qualification_round: QualificationRound,
    grader: AbstractBaseUser,
    *,
    start: PairKey | None = None,
    after: PairKey | None = None,
) -> GradingQueue:
    """Return a grader's next pairs, oldest submission first.

    Args:
        start: the first pair to show, even if it no longer waits. after: show only the pairs after this one.
    """
    rows = {
        row.submission.pk: row
        for row in gradable_submissions(qualification_round)
        if row.submission is not None
    }
    pairs = {pk: gradable_pairs(row, qualification_round.batch.kind) for pk, row in rows.items()}
    grades = load_grades(qualification_round)
    order = [
        PairKey(pk, pair.item)
        for pk in _order_submissions(qualification_round, rows, grades, grader)
        for pair in pairs[pk]
    ]
    waiting = [
        key for key in order if _is_waiting(_pair_grades(grades, key), qualification_round.graders, grader.pk)
    ]
    shown, position = _select_keys(order, waiting, start, after)
    images = image_facts_by_id({pairs[key.submission][key.item].image for key in shown})
    waiting_keys = set(waiting)
    cards = [
        _build_card(
            key,
            rows[key.submission],
            pairs[key.submission],
            images,
            _pair_grades(grades, key),
            grader,
            key in waiting_keys,
        )
        for key in shown
    ]
    index = order.index(shown[0]) if shown else -1
    return GradingQueue(
        cards=cards,
        waiting=len(waiting),
        position=position,
        previous=order[index - 1] if index > 0 else None,
        following=shown[1] if len(shown) > 1 else None,
    )


def _pair_grades(grades: GradesByPair, key: PairKey) -> Sequence[Grade]:
    return grades.get(key.submission, {}).get(key.item, ())


def _is_waiting(rows: Sequence[Grade], grader_count: int, grader: int) -> bool:
    by_grader = latest_grades_by_grader(rows)
    return grader not in by_grader and len(by_grader) < grader_count


def _order_submissions(
    qualification_round: QualificationRound,
    rows: Mapping[uuid.UUID, Assignment],
    grades: GradesByPair,
    grader: AbstractBaseUser,
) -> list[uuid.UUID]:
    """Return submissions in order; if one grader is enough, a colleague's current submission comes last."""
    if qualification_round.graders > 1:
        return list(rows)
    since = timezone.now() - RECENT_GRADING
    in_progress = {
        pk
        for pk, items in grades.items()
        for pair_grades in items.values()
        for grade in pair_grades
        if grade.grader_id != grader.pk and grade.graded_at > since
    }
    return sorted(rows, key=lambda pk: pk in in_progress)  # stable: oldest first within both groups


def _select_keys(
    order: list[PairKey], waiting: list[PairKey], start: PairKey | None, after: PairKey | None
) -> tuple[list[PairKey], int]:
    """Return the keys to show, and the position of the first one among the waiting pairs."""
    positions = {key: number for number, key in enumerate(order)}
    shown = waiting
    if after is not None and after in positions:
        shown = [key for key in waiting if positions[key] > positions[after]]
    elif start is not None and start in positions:
        later = [key for key in waiting if positions[key] > positions[start]]
        shown = [start, *later, *(key for key in waiting if positions[key] < positions[start])]
    position = waiting.index(shown[0]) + 1 if shown and shown[0] in waiting else 0
    return shown[:MAX_CARDS], position


def _build_card(  # noqa: PLR0917 - private
    key: PairKey,
    row: Assignment,
    pairs: Sequence[GradableItem],
    images: Mapping[int, ImageFacts],
    grades: Sequence[Grade],
    grader: AbstractBaseUser,
    is_waiting: bool,
) -> PairCard:
    pair = pairs[key.item]
    photos = list(dict.fromkeys(other.image for other in pairs))
    by_grader = latest_grades_by_grader(grades)
    own_grade = by_grader.pop(grader.pk, None)
    return PairCard(
        key=key,
        worker=str(row.worker),
        image=images[pair.image],
        photo_number=photos.index(pair.image) + 1,
        photo_count=len(photos),
        pair=pair,
        own_grade=own_grade,
        other_grades=tuple(by_grader.values()) if own_grade is not None else (),
        is_waiting=is_waiting,
    )


def _grade_as_page_dict(grade: GivenGrade) -> dict[str, Any]:
    return {"name": grade.name, "reasonable": grade.reasonable, "note": grade.note}
