"""Read evidence about answer quality: quality checks, fast answers, runs of one answer, copied texts."""

from collections import Counter, defaultdict
from collections.abc import Callable, Collection, Iterable, Iterator, Sequence
from dataclasses import dataclass
from datetime import datetime
from typing import TypeVar

from django.core.cache import cache
from django.db.models import Count, Max, Q, QuerySet, Sum

from hits import registry
from hits.domain.hashing import content_sha256
from hits.domain.states import AssignmentStatus, SubmissionMatch
from hits.models import Assignment, Batch, Project, Record, Worker
from hits.observing.pairs import OBSERVATION
from hits.selectors import records as collected
from validation.domain.judging import answer_quality
from validation.domain.judging.answer_quality import CheckResult
from validation.domain.judging.near_copies import find_copies, is_long_text
from validation.domain.judging.quality_check_types import CheckRole, ExpectedLabels
from validation.domain.judging.ratings import JudgmentRow
from validation.domain.qualification.worker_rules import Series
from validation.domain.qualification.worker_status import Measure
from validation.models import ImportedJudgment, JudgingReport, QualityCheck, WorkerQuality
from validation.registry import judging_kinds, spec_of
from validation.selectors.ratings import counted_assignment_filter, read_judgments

MIN_TIME_SHARE = 0.1  # of a kind's expected time: nobody reads a task ten times as fast as a careful worker
CACHE_SECONDS = 24 * 3600  # how long a computed series stays in the cache
_CHUNK_SIZE = 5_000
Result = TypeVar("Result")
_ROLE_BY_MEASURE = {
    Measure.GOLD_SHARE: CheckRole.GOLD,
    Measure.ATTENTION_SHARE: CheckRole.ATTENTION,
    Measure.REPEAT_SHARE: CheckRole.REPEAT,
}


def min_seconds(kind: str) -> float:
    """Return the active seconds below which a worker cannot have read a task of the kind."""
    return MIN_TIME_SHARE * registry.get_kind(kind).expected_seconds


def expected_labels_and_originals(
    project: Project, kind: str
) -> tuple[dict[int, ExpectedLabels], dict[int, int]]:
    """Return the expected labels by unit, and each repeat's original unit; one query."""
    expected: dict[int, ExpectedLabels] = {}
    originals: dict[int, int] = {}
    rows = QualityCheck.objects.filter(unit__batch__project=project, unit__batch__kind=kind)
    for unit, role, labels, original in rows.values_list("unit_id", "role", "expected", "original_id"):
        if role == CheckRole.REPEAT:
            originals[unit] = original
        else:
            expected[unit] = labels
    return expected, originals


def quality_check_results(project: Project, kind: str) -> dict[int, list[CheckResult]]:
    """Return the results of each worker's quality checks, oldest first; at most three queries."""
    expected, originals = expected_labels_and_originals(project, kind)
    if not expected and not originals:
        return {}
    rows = [
        *_original_judgments(project, kind),
        *read_judgments(project=project, kind=kind, roles=tuple(CheckRole)),
    ]
    return answer_quality.score_quality_checks(
        rows, expected=expected, originals=originals, spec=spec_of(kind)
    )


def _original_judgments(project: Project, kind: str) -> Iterator[JudgmentRow]:
    repeats = QualityCheck.objects.filter(
        role=CheckRole.REPEAT, unit__batch__project=project, unit__batch__kind=kind
    )
    rows = _not_rejected_assignments(project, kind).filter(hit__unit__in=repeats.values("original"))
    fields = rows.values_list("worker_id", "hit__unit_id", "pk", "submission__answer")
    for worker, unit, pk, answer in fields.iterator(_CHUNK_SIZE):
        yield JudgmentRow(kind, "", f"w{worker}", answer, worker=worker, unit=unit, assignment=pk)


def _not_rejected_assignments(project: Project, kind: str) -> "QuerySet[Assignment]":
    return Assignment.objects.filter(
        counted_assignment_filter(), hit__unit__batch__kind=kind, hit__unit__batch__project=project
    )


def quality_series(project: Project, measure: Measure) -> Series:
    """Return each worker's values of a quality measure, oldest first; ``True`` is good.

    The search for long runs and copies reads all answers, which takes seconds for hundreds of thousands. So its
    result is cached until an answer arrives or is decided.
    """
    if measure in _ROLE_BY_MEASURE:
        return _quality_check_series(project, _ROLE_BY_MEASURE[measure])
    if measure is Measure.PACE_SHARE:
        return _pace_series(project)
    compute = {Measure.VARIED_SHARE: _variety_series, Measure.ORIGINAL_SHARE: _originality_series}[measure]
    return cached_result(project, measure.value, compute)


def cached_result(project: Project, name: str, compute: Callable[[Project], Result]) -> Result:
    """Return the result of ``compute`` over all answers of a project, cached until the answers change."""
    key = f"quality:{name}:{project.pk}:{':'.join(map(str, answers_fingerprint(project)))}"
    cached: Result | None = cache.get(key)
    if cached is None:
        cached = compute(project)
        cache.set(key, cached, CACHE_SECONDS)
    return cached


def answers_fingerprint(project: Project) -> list[int]:
    """Return numbers that change when an answer of the project arrives or is decided; four queries.

    They count the confirmed answers, the rejected ones, the imported ones, and the images that were taken down. The
    sum of the rejected primary keys changes if one rejection is overridden while another is made.
    """
    batches = list(Batch.objects.filter(project=project).values_list("pk", flat=True))
    rows = Assignment.objects.filter(hit__unit__batch__in=batches, match=SubmissionMatch.MATCHED)
    rejected = Q(status=AssignmentStatus.REJECTED)
    found = rows.aggregate(
        n=Count("pk"), last=Max("pk"), rejected=Count("pk", filter=rejected), pks=Sum("pk", filter=rejected)
    )
    imported = ImportedJudgment.objects.filter(source__project=project).count()
    taken_down = project.images.filter(taken_down_at__isnull=False).count()
    return [found["n"], found["last"] or 0, found["rejected"], int(found["pks"] or 0), imported, taken_down]


def _merge_by_worker(rows: Iterable[tuple[int, datetime | None, bool]]) -> Series:
    """Return the values by worker, ordered by time across kinds."""
    found: dict[int, list[tuple[datetime | None, bool]]] = defaultdict(list)
    for worker, at, value in rows:
        found[worker].append((at, value))
    return {
        worker: [value for _, value in sorted(values, key=lambda row: (row[0] is not None, row[0]))]
        for worker, values in found.items()
    }


def _quality_check_series(project: Project, role: CheckRole) -> Series:
    """Return whether each check was answered as expected; for repeats, whether each label is the same both times."""
    rows: list[tuple[int, datetime | None, bool]] = []
    for kind in judging_kinds():
        for worker, answers in quality_check_results(project, kind).items():
            for answer in answers:
                if answer.role is not role:
                    continue
                result = answer.match
                values = [n < result.correct for n in range(result.total)]
                rows.extend(
                    (worker, answer.at, value)
                    for value in (values if role is CheckRole.REPEAT else [result.passed])
                )
    return _merge_by_worker(rows)


def _pace_series(project: Project) -> Series:
    rows: list[tuple[int, datetime | None, bool]] = []
    for kind in judging_kinds():
        timed = _not_rejected_assignments(project, kind).filter(
            hit__unit__quality_check=None, submission__active_seconds__gt=0
        )
        fields = timed.order_by("submitted_at", "pk").values_list(
            "worker_id", "submitted_at", "submission__active_seconds"
        )
        found = list(fields.iterator(_CHUNK_SIZE))
        limit = answer_quality.compute_pace_limit([seconds for _, _, seconds in found], min_seconds(kind))
        rows.extend((worker, at, seconds >= limit) for worker, at, seconds in found)
    return _merge_by_worker(rows)


def _variety_series(project: Project) -> Series:
    rows: list[tuple[int, datetime | None, bool]] = []
    for kind in judging_kinds():
        by_worker: dict[int, list[JudgmentRow]] = defaultdict(list)
        for row in read_judgments(project=project, kind=kind):
            if row.worker is not None:
                by_worker[row.worker].append(row)
        runs = answer_quality.find_long_runs(
            {worker: [row.answer for row in judgments] for worker, judgments in by_worker.items()},
            spec_of(kind),
        )
        for worker, judgments in by_worker.items():
            marks = answer_quality.mark_answers_in_runs(runs.get(worker, ()), len(judgments))
            rows.extend((worker, row.at, not mark) for row, mark in zip(judgments, marks, strict=True))
    return _merge_by_worker(rows)


def _originality_series(project: Project) -> Series:
    found: dict[int, list[bool]] = defaultdict(list)
    pairs = _pair_texts(collected.not_rejected_records(project, OBSERVATION))
    for (worker, *_), source in zip(pairs, find_copied_pair_indexes(pairs), strict=True):
        found[worker].append(source < 0)
    return dict(found)


PairText = tuple[int, str, str]  # the author's primary key, clue, inference


def _pair_texts(rows: "QuerySet[Record]") -> list[PairText]:
    fields = rows.order_by("pk").values_list(
        "submission__attempt__worker_id", "fields__clue", "fields__inference"
    )
    return list(fields.iterator(_CHUNK_SIZE))


def find_copied_pair_indexes(pairs: Collection[PairText]) -> list[int]:
    """Return for each pair, oldest first, the index of an earlier pair that it copies, or -1.

    A pair copies if its inference does, or clue and inference together. A clue alone does not count, since
    people often use the same words for the same thing.
    """
    authors = [worker for worker, _, _ in pairs]
    inference_copies = find_copies([inference for _, _, inference in pairs], authors).source
    pair_copies = find_copies([f"{clue} {inference}" for _, clue, inference in pairs], authors).source
    return [
        int(inference_source if inference_source >= 0 else pair_source)
        for inference_source, pair_source in zip(inference_copies, pair_copies, strict=True)
    ]


@dataclass(frozen=True, slots=True)
class PairCopy:
    """A pair that copies an earlier one: both assignments, its inference, and whether both have one author."""

    assignment: int
    earlier_assignment: int
    inference: str
    is_own: bool


@dataclass(frozen=True, slots=True)
class WorkerPairCopies:
    """The pairs that copy an earlier one among ``total`` pairs of a worker, newest last.

    ``near_copies_compared``: whether other workers' texts were searched for near copies; their own always are.
    """

    pairs: tuple[PairCopy, ...]
    total: int
    near_copies_compared: bool


MAX_COMPARED_PAIRS = 10_000  # in a project; all of them are compared within half a second
MAX_NEWEST_PAIRS = 500  # newest pairs of a worker that are compared in larger projects
_PAIR_FIELDS = (
    "pk",
    "fields__clue",
    "fields__inference",
    "submission__assignment__pk",
    "submission__attempt__worker_id",
)
_PairRow = tuple[int, str, str, int, int]


def worker_pair_copies(worker: Worker, project: Project) -> WorkerPairCopies:
    """Return which of a worker's pairs copy an earlier one, exactly or nearly.

    With more than ``MAX_COMPARED_PAIRS`` pairs in the project, only the newest ones are compared, and with other
    workers' texts only exactly. Worker rules still find those near copies, since they compare all texts.
    """
    project_pairs = collected.not_rejected_records(project, OBSERVATION)
    rows = list(project_pairs.order_by("pk").values_list(*_PAIR_FIELDS)[: MAX_COMPARED_PAIRS + 1])
    if len(rows) <= MAX_COMPARED_PAIRS:
        return _copies_by_author(rows).get(worker.pk, WorkerPairCopies((), 0, near_copies_compared=True))
    own_pairs = list(
        project_pairs.filter(submission__attempt__worker=worker)
        .order_by("-pk")
        .values_list(*_PAIR_FIELDS)[:MAX_NEWEST_PAIRS]
    )
    others = project_pairs.exclude(submission__attempt__worker=worker).filter(
        fields__inference__in={row[2] for row in own_pairs if is_long_text(row[2])}
    )
    pairs = _group_copies(sorted([*own_pairs, *others.values_list(*_PAIR_FIELDS)]))
    return WorkerPairCopies(tuple(pairs[worker.pk]), len(own_pairs), near_copies_compared=False)


def _copies_by_author(rows: Sequence[_PairRow]) -> dict[int, WorkerPairCopies]:
    """Return each author's copies among all pairs, cached by the pairs' keys, since texts never change."""
    key = f"quality:pair-copies:{content_sha256([row[0] for row in rows])}"
    cached: dict[int, WorkerPairCopies] | None = cache.get(key)
    if cached is None:
        pairs, counts = _group_copies(rows), Counter(author for *_, author in rows)
        cached = {
            author: WorkerPairCopies(tuple(pairs[author]), total, near_copies_compared=True)
            for author, total in counts.items()
        }
        cache.set(key, cached, CACHE_SECONDS)
    return cached


def _group_copies(rows: Sequence[_PairRow]) -> dict[int, list[PairCopy]]:
    """Return the pairs that copy an earlier one, by author; ``rows`` are all pairs, oldest first."""
    found: dict[int, list[PairCopy]] = defaultdict(list)
    sources = find_copied_pair_indexes([(author, clue, inference) for _, clue, inference, _, author in rows])
    for (*_, inference, assignment, author), source in zip(rows, sources, strict=True):
        if source >= 0:
            earlier, earlier_author = rows[source][3:]
            found[author].append(PairCopy(assignment, earlier, inference, earlier_author == author))
    return found


def newest_worker_qualities(worker: Worker, project: Project) -> list[WorkerQuality]:
    """Return a worker's figures in the newest report of each kind; two queries."""
    newest = JudgingReport.objects.filter(project=project).order_by().values("kind").annotate(last=Max("pk"))
    rows = WorkerQuality.objects.filter(worker=worker, report__in=[row["last"] for row in newest])
    return list(rows.select_related("report").defer("report__figures").order_by("report__kind"))
