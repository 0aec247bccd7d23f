"""How answers were given, read from what was collected: controls, haste, runs of one answer, copied texts."""

from collections import Counter, defaultdict
from collections.abc import Callable, Collection, Iterable, Iterator, Sequence
from dataclasses import dataclass
from datetime import datetime
from typing import Any, TypeVar

from django.core.cache import cache
from django.db.models import Count, Max, Q, QuerySet, Sum

from hits import registry
from hits.domain.hashing import content_sha256
from hits.domain.states import AssignmentStatus, Match
from hits.models import Assignment, Batch, Project, Record, Worker
from hits.observing.pairs import OBSERVATION
from hits.selectors import records as collected
from hits.selectors.records import NOT_REJECTED
from validation.domain.judging import answer_quality
from validation.domain.judging.answer_quality import ControlAnswer
from validation.domain.judging.near_copies import copies, is_long
from validation.domain.judging.quality_check_types import ControlRole, Expected
from validation.domain.judging.ratings import Judged
from validation.domain.qualification.worker_rules import Series
from validation.domain.qualification.worker_status import Measure
from validation.models import ControlUnit, ImportedJudgment, JudgingReport, WorkerQuality
from validation.registry import names, spec_of
from validation.selectors.ratings import judged

FLOOR_SHARE = 0.1  # of a kind's usual time: nobody reads a task ten times as fast as a careful worker
KEPT = 24 * 3600  # seconds that a computed series stays in the cache
_CHUNK = 5_000
Kept = TypeVar("Kept")
_ROLES = {
    Measure.GOLD_SHARE: ControlRole.GOLD,
    Measure.ATTENTION_SHARE: ControlRole.ATTENTION,
    Measure.REPEAT_SHARE: ControlRole.REPEAT,
}


def floor_of(kind: str) -> float:
    """Return the active seconds under which nobody can have read a task of the kind."""
    return FLOOR_SHARE * registry.get(kind).usual_seconds


def controls_of(project: Project, kind: str) -> tuple[dict[int, Expected], dict[int, int]]:
    """Return what is expected by unit, and the originals' units by their repeats'; one query."""
    expected: dict[int, Expected] = {}
    of: dict[int, int] = {}
    rows = ControlUnit.objects.filter(unit__batch__project=project, unit__batch__kind=kind)
    for unit, role, labels, original in rows.values_list("unit_id", "role", "expected", "of_id"):
        if role == ControlRole.REPEAT:
            of[unit] = original
        else:
            expected[unit] = labels
    return expected, of


def live(project: Project, kind: str) -> dict[int, dict[str, Any]]:
    """Return what all answers of a kind show about each worker, by row key; see ``quality.evidence``."""
    expected, of = controls_of(project, kind)
    rows = judged(project=project, kind=kind, roles=None)
    return answer_quality.evidence(
        rows, expected=expected, of=of, spec=spec_of(kind), floor_seconds=floor_of(kind)
    )


def control_answers(
    project: Project, kind: str, *, workers: Collection[int] | None = None
) -> dict[int, list[ControlAnswer]]:
    """Return what each worker's answers to controls came to, oldest first; at most three queries."""
    expected, of = controls_of(project, kind)
    if not expected and not of:
        return {}
    rows = [
        *_originals(project, kind, workers),
        *judged(project=project, kind=kind, workers=workers, roles=tuple(ControlRole)),
    ]
    return answer_quality.checked(rows, expected=expected, of=of, spec=spec_of(kind))


def _originals(project: Project, kind: str, workers: Collection[int] | None) -> Iterator[Judged]:
    repeats = ControlUnit.objects.filter(
        role=ControlRole.REPEAT, unit__batch__project=project, unit__batch__kind=kind
    )
    rows = _standing(project, kind).filter(hit__unit__in=repeats.values("of"))
    if workers is not None:
        rows = rows.filter(worker__in=list(workers))
    fields = rows.values_list("worker_id", "hit__unit_id", "pk", "submission__answer")
    for worker, unit, pk, answer in fields.iterator(_CHUNK):
        yield Judged(kind, "", f"w{worker}", answer, worker=worker, unit=unit, assignment=pk)


def _standing(project: Project, kind: str) -> "QuerySet[Assignment]":
    return Assignment.objects.filter(
        match=Match.MATCHED,
        status__in=[status.value for status in NOT_REJECTED],
        hit__unit__batch__kind=kind,
        hit__unit__batch__project=project,
    )


def series(project: Project, measure: Measure) -> Series:
    """Return each worker's values of a measure of how they answer, oldest first; ``True`` is as it should be.

    Long runs and copies are looked for among all answers, which takes seconds where there are hundreds of thousands.
    So they are kept, until an answer comes in or is decided.
    """
    if measure in _ROLES:
        return _controls(project, _ROLES[measure])
    if measure is Measure.PACE_SHARE:
        return _paces(project)
    find = {Measure.VARIED_SHARE: _varied, Measure.ORIGINAL_SHARE: _original}[measure]
    return kept(project, measure.value, find)


def kept(project: Project, name: str, find: Callable[[Project], Kept]) -> Kept:
    """Return what ``find`` finds in all answers of a project; as it was found last, where nothing came in since."""
    key = f"quality:{name}:{project.pk}:{':'.join(map(str, seen_in(project)))}"
    known: Kept | None = cache.get(key)
    if known is None:
        known = find(project)
        cache.set(key, known, KEPT)
    return known


def seen_in(project: Project) -> list[int]:
    """Return numbers that change when an answer of the project comes in or is decided; four queries.

    They are the confirmed answers, those that were rejected with the sum of their keys (one may be overridden while
    another is rejected), the imported ones, and the images that were taken down.
    """
    batches = list(Batch.objects.filter(project=project).values_list("pk", flat=True))
    rows = Assignment.objects.filter(hit__unit__batch__in=batches, match=Match.MATCHED)
    rejected = Q(status=AssignmentStatus.REJECTED)
    seen = rows.aggregate(
        n=Count("pk"),
        last=Max("pk"),
        no=Count("pk", filter=rejected),
        which=Sum("pk", filter=rejected),
    )
    imported = ImportedJudgment.objects.filter(source__project=project).count()
    gone = project.images.filter(withdrawn_at__isnull=False).count()
    return [seen["n"], seen["last"] or 0, seen["no"], int(seen["which"] or 0), imported, gone]


def _merged(rows: Iterable[tuple[int, datetime | None, bool]]) -> Series:
    """Return values by worker, those of several kinds in the order of their times."""
    found: dict[int, list[tuple[datetime | None, bool]]] = defaultdict(list)
    for worker, at, value in rows:
        found[worker].append((at, value))
    return {
        worker: [value for _, value in sorted(values, key=lambda row: (row[0] is not None, row[0]))]
        for worker, values in found.items()
    }


def _controls(project: Project, role: ControlRole) -> Series:
    """Return units answered as expected; for repeats, labels that are the same both times."""
    rows: list[tuple[int, datetime | None, bool]] = []
    for kind in names():
        for worker, answers in control_answers(project, kind).items():
            for answer in answers:
                if answer.role is not role:
                    continue
                found = answer.checked
                values = [n < found.right for n in range(found.of)]
                rows.extend(
                    (worker, answer.at, value)
                    for value in (values if role is ControlRole.REPEAT else [found.passed])
                )
    return _merged(rows)


def _paces(project: Project) -> Series:
    rows: list[tuple[int, datetime | None, bool]] = []
    for kind in names():
        timed = _standing(project, kind).filter(hit__unit__control=None, submission__active_seconds__gt=0)
        fields = timed.order_by("submitted_at", "pk").values_list(
            "worker_id", "submitted_at", "submission__active_seconds"
        )
        found = list(fields.iterator(_CHUNK))
        limit = answer_quality.pace_limit([seconds for _, _, seconds in found], floor_of(kind))
        rows.extend((worker, at, seconds >= limit) for worker, at, seconds in found)
    return _merged(rows)


def _varied(project: Project) -> Series:
    rows: list[tuple[int, datetime | None, bool]] = []
    for kind in names():
        mine: dict[int, list[Judged]] = defaultdict(list)
        for row in judged(project=project, kind=kind):
            if row.worker is not None:
                mine[row.worker].append(row)
        runs = answer_quality.long_runs(
            {worker: [row.answer for row in given] for worker, given in mine.items()}, spec_of(kind)
        )
        for worker, given in mine.items():
            marks = answer_quality.in_runs(runs.get(worker, ()), len(given))
            rows.extend((worker, row.at, not mark) for row, mark in zip(given, marks, strict=True))
    return _merged(rows)


def _original(project: Project) -> Series:
    found: dict[int, list[bool]] = defaultdict(list)
    pairs = _texts(collected.not_rejected(project, OBSERVATION))
    for (worker, *_), of in zip(pairs, copied(pairs), strict=True):
        found[worker].append(of < 0)
    return dict(found)


Text = tuple[int, str, str]  # the author's row key, clue, inference


def _texts(rows: "QuerySet[Record]") -> list[Text]:
    fields = rows.order_by("pk").values_list(
        "submission__attempt__worker_id", "fields__clue", "fields__inference"
    )
    return list(fields.iterator(_CHUNK))


def copied(pairs: Collection[Text]) -> list[int]:
    """Return for each pair, oldest first, the position of an earlier one that it copies, or -1.

    It does so with its inference, or with clue and inference taken together. Clues alone name things, and two people
    who look at the same sort of thing call it the same.
    """
    authors = [worker for worker, _, _ in pairs]
    alone = copies([inference for _, _, inference in pairs], authors).of
    together = copies([f"{clue} {inference}" for _, clue, inference in pairs], authors).of
    return [int(one if one >= 0 else both) for one, both in zip(alone, together, strict=True)]


@dataclass(frozen=True, slots=True)
class CopiedPair:
    """A pair that copies an earlier one: their submissions' assignments, its inference, and whose the earlier is."""

    assignment: int
    earlier: int
    inference: str
    is_own: bool


@dataclass(frozen=True, slots=True)
class OwnCopies:
    """Of ``of`` pairs of a worker, those that copy an earlier one, the newest last.

    ``nearly``: whether near copies of other people's texts were looked for; of one's own they always are.
    """

    pairs: tuple[CopiedPair, ...]
    of: int
    nearly: bool


NEARLY_AMONG = 10_000  # pairs of a project; all of them are compared within half a second
NEWEST = 500  # of a worker's pairs that are looked at in larger projects
_PAIR = (
    "pk",
    "fields__clue",
    "fields__inference",
    "submission__assignment__pk",
    "submission__attempt__worker_id",
)
_Row = tuple[int, str, str, int, int]


def copies_of(worker: Worker, project: Project) -> OwnCopies:
    """Return which of a worker's pairs copy an earlier one, nearly or word for word.

    In a project of more than ``NEARLY_AMONG`` pairs only the newest ones are looked at, and other people's texts only
    where they are the same word for word: near copies of those are found where a rule asks, since all texts have to
    be compared.
    """
    standing = collected.not_rejected(project, OBSERVATION)
    rows = list(standing.order_by("pk").values_list(*_PAIR)[: NEARLY_AMONG + 1])
    if len(rows) <= NEARLY_AMONG:
        return _copied_by_author(rows).get(worker.pk, OwnCopies((), 0, nearly=True))
    mine = list(
        standing.filter(submission__attempt__worker=worker).order_by("-pk").values_list(*_PAIR)[:NEWEST]
    )
    others = standing.exclude(submission__attempt__worker=worker).filter(
        fields__inference__in={row[2] for row in mine if is_long(row[2])}
    )
    pairs = _copied_pairs(sorted([*mine, *others.values_list(*_PAIR)]))
    return OwnCopies(tuple(pairs[worker.pk]), len(mine), nearly=False)


def _copied_by_author(rows: Sequence[_Row]) -> dict[int, OwnCopies]:
    """Return everybody's copies among all pairs, kept while these are the same; what a pair says never changes."""
    key = f"quality:copied-pairs:{content_sha256([row[0] for row in rows])}"
    known: dict[int, OwnCopies] | None = cache.get(key)
    if known is None:
        pairs, counts = _copied_pairs(rows), Counter(author for *_, author in rows)
        known = {author: OwnCopies(tuple(pairs[author]), of, nearly=True) for author, of in counts.items()}
        cache.set(key, known, KEPT)
    return known


def _copied_pairs(rows: Sequence[_Row]) -> dict[int, list[CopiedPair]]:
    """Return the pairs that copy an earlier one, by their author; rows are all pairs, oldest first."""
    found: dict[int, list[CopiedPair]] = defaultdict(list)
    of = copied([(author, clue, inference) for _, clue, inference, _, author in rows])
    for (*_, inference, assignment, author), at in zip(rows, of, strict=True):
        if at >= 0:
            earlier, whose = rows[at][3:]
            found[author].append(CopiedPair(assignment, earlier, inference, whose == author))
    return found


def reports_on(worker: Worker, project: Project) -> list[WorkerQuality]:
    """Return what the newest report of each kind found about a worker; two queries."""
    newest = JudgingReport.objects.filter(project=project).order_by().values("kind").annotate(last=Max("pk"))
    rows = WorkerQuality.objects.filter(worker=worker, report__in=[row["last"] for row in newest])
    return list(rows.select_related("report").defer("report__figures").order_by("report__kind"))
