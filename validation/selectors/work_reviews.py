"""Read reviews of submissions: what can be reviewed, what was found, and which advice waits for its author."""

from collections import defaultdict
from collections.abc import Iterable, Mapping, Sequence
from dataclasses import dataclass, field
from datetime import datetime
from uuid import UUID

from django.db.models import CharField, Count, Exists, OuterRef, Q, QuerySet, Value
from django.db.models.functions import Cast, Replace

from hits import registry
from hits.domain.hashing import request_token
from hits.domain.states import AssignmentStatus, Purpose, SubmissionMatch
from hits.domain.workers.qualification_pools import Pool
from hits.models import Assignment, Attempt, Batch, OutgoingCall, Project, Record, Unit, Worker
from hits.selectors import records as collected
from hits.selectors.eligibility.eligibility import pool_worker_ids
from validation.domain.agreement.votes import is_favoured, tally
from validation.domain.judging.ratings import JudgmentRow
from validation.domain.judging.spec import Dimension, JudgingSpec, Material, Scale
from validation.domain.qualification.worker_rules import Series
from validation.registry import record_types_of_kind, spec_for_material
from validation.selectors.ratings import counted_assignment_filter, read_judgments

ADVICE_KEY = "advice"  # of a planned message: it is about one review


def submission_spec() -> JudgingSpec:
    """Return the spec of the kind that reviews submissions."""
    return spec_for_material(Material.SUBMISSIONS)


def collects_reviewable_work(project: Project) -> bool:
    """Return whether a project has, or may still collect, records that submissions are reviewed for.

    At most one query; a project whose family has a kind that collects such records may collect some.
    """
    record_type = str(submission_spec().record_type)
    kinds = [name for name in registry.kind_names() if record_type in record_types_of_kind(name)]
    if not set(kinds).isdisjoint(registry.collecting_kinds_of(project.family)):
        return True
    batches = Batch.objects.filter(project=project, kind__in=kinds)
    records = Record.objects.filter(project=project, type=record_type)
    return Project.objects.filter(pk=project.pk).filter(Exists(batches) | Exists(records)).exists()


def reviewed_kinds() -> list[str]:
    """Return the collecting kinds whose submissions can be reviewed."""
    kinds = registry.kinds_with_purpose(Purpose.COLLECTING)
    return [name for name in kinds if submission_spec().record_type in registry.get_kind(name).record_types]


def reviewable_assignments(project: Project) -> "QuerySet[Assignment]":
    """Return the confirmed, not rejected assignments that no round has sent to reviewers, oldest first.

    They have records of the reviewed type, and none of their images was taken down.
    """
    found = Record.objects.filter(submission=OuterRef("submission"), type=submission_spec().record_type)
    rows = Assignment.objects.filter(
        counted_assignment_filter(),
        hit__unit__batch__project=project,
        hit__unit__batch__kind__in=reviewed_kinds(),
    )
    rows = rows.filter(Exists(found)).exclude(hit__unit__images__taken_down_at__isnull=False)
    # In one query: there may be more sent submissions than a query may name.
    key = Replace(Cast(OuterRef("submission"), CharField()), Value("-"), Value(""))
    sent = Unit.objects.filter(batch__project=project, batch__kind=submission_spec().name, key=key)
    rows = rows.exclude(Exists(sent))
    return rows.select_related("worker", "hit__unit").order_by("pk")


def submission_key(submission_id: UUID) -> str:
    """Return the key of a submission's unit."""
    return submission_id.hex


def _is_submission_key(key: str) -> bool:
    try:
        return UUID(key).hex == key
    except ValueError:
        return False  # a unit that no review round made, such as one of a test


def records_by_submission(assignments: Iterable[Assignment]) -> dict[UUID, list[Record]]:
    """Return the records of the reviewed type of each submission, in the order of their answer."""
    ids = [row.submission_id for row in assignments if row.submission_id is not None]
    found: dict[UUID, list[Record]] = defaultdict(list)
    for chunk in collected.id_chunks(ids):
        rows = Record.objects.filter(submission__in=chunk, type=submission_spec().record_type)
        for record in rows.order_by("index"):
            if record.submission_id is not None:
                found[record.submission_id].append(record)
    return found


@dataclass(frozen=True, slots=True)
class ReviewRound:
    """A batch of reviews: ``received`` of ``required``; ``every`` and ``seed`` are those of its sample."""

    batch: Batch
    received: int
    required: int
    every: int | None
    seed: int | None


def review_rounds(project: Project) -> list[ReviewRound]:
    """Return the project's rounds of reviews, newest first; one query."""
    counted = counted_assignment_filter("units__hits__assignments__")
    rows = Batch.objects.filter(project=project, kind=submission_spec().name).annotate(
        submissions=Count("units", distinct=True),
        received=Count("units__hits__assignments", filter=counted, distinct=True),
    )
    return [
        ReviewRound(
            batch=row,
            received=row.received,
            required=row.submissions * row.redundancy,
            every=row.provenance.get("every"),
            seed=row.provenance.get("seed"),
        )
        for row in rows.order_by("-pk")
    ]


def last_seed(project: Project) -> int | None:
    """Return the seed of the project's newest sample; ``None`` if it has none."""
    rows = Batch.objects.filter(project=project, kind=submission_spec().name).order_by("-pk")
    seeds = rows.values_list("provenance__seed", flat=True)
    return next((seed for seed in seeds if seed is not None), None)


@dataclass(frozen=True, slots=True)
class ReviewedPart:
    """The majority labels of one record of a submission, by dimension; ``is_counted`` says whether rules count it."""

    labels: Mapping[str, str]
    is_counted: bool | None


@dataclass(slots=True)
class ReviewedWorker:
    """What reviews found in one author's work. ``parts`` and ``texts`` are in the order of the reviews."""

    worker: Worker
    submissions: int = 0
    parts: list[ReviewedPart] = field(default_factory=list)
    overall: dict[str, int] = field(default_factory=dict)
    texts: list[str] = field(default_factory=list)

    def count(self, dimension: Dimension) -> int:
        """Return how many parts have a favourable label in a dimension."""
        return sum(part.labels.get(dimension.name) in dimension.favourable for part in self.parts)

    @property
    def counted(self) -> int:
        """How many parts worker rules count in the author's favour."""
        return sum(part.is_counted is True for part in self.parts)


def reviewed_workers(
    project: Project,
    *,
    workers: Sequence[int] | None = None,
    within: tuple[datetime, datetime] | None = None,
) -> list[ReviewedWorker]:
    """Return what reviews found by author, most reviewed first; rejected reviews do not count.

    ``workers`` limits the authors, ``within`` the times of the reviews (its end is not part of it).
    """
    spec = submission_spec()
    by_item: dict[str, list[JudgmentRow]] = defaultdict(list)
    for row in read_judgments(project=project, kind=spec.name):
        if within is None or (row.at is not None and within[0] <= row.at < within[1]):
            by_item[row.item].append(row)
    authors = authors_by_key(project, list(by_item))
    found: dict[int, ReviewedWorker] = {}
    for item, rows in by_item.items():
        author = authors.get(item)
        if author is None or (workers is not None and author.pk not in workers):
            continue
        entry = found.setdefault(author.pk, ReviewedWorker(author))
        entry.submissions += 1
        _add_reviews(entry, rows, spec)
    return sorted(found.values(), key=lambda row: (-row.submissions, row.worker.pk))


def _add_reviews(entry: ReviewedWorker, rows: Sequence[JudgmentRow], spec: JudgingSpec) -> None:
    by_part: dict[str, dict[str, list[str]]] = defaultdict(lambda: defaultdict(list))
    for row in rows:
        for name, part, label in spec.labels(row.answer):
            if part:
                by_part[part][name].append(str(label))
            elif spec.dimension(name).scale is Scale.TEXT:
                entry.texts.append(str(label))
            else:
                entry.overall[str(label)] = entry.overall.get(str(label), 0) + 1
    for part in sorted(by_part):
        entry.parts.append(_reviewed_part(by_part[part], spec))


def _reviewed_part(labels: Mapping[str, Sequence[str]], spec: JudgingSpec) -> ReviewedPart:
    verdicts = [
        is_favoured(
            tally(labels[dimension.name], [str(label) for label in dimension.labels]),
            map(str, dimension.favourable),
        )
        for dimension in spec.dimensions
        if dimension.measure and dimension.name in labels
    ]
    is_counted = None if None in verdicts else all(verdicts)
    most = {name: max(given, key=list(given).count) for name, given in labels.items()}
    return ReviewedPart(most, is_counted)


def reviewed_series(project: Project) -> Series:
    """Return by author whether reviewers find each record without error, in the order of the reviews."""
    return {
        row.worker.pk: [part.is_counted for part in row.parts]
        for row in reviewed_workers(project)
        if row.parts
    }


def authors_by_key(project: Project, keys: Sequence[str]) -> dict[str, Worker]:
    """Return the authors of submissions by the key of their unit."""
    return {key: row.worker for key, row in assignments_by_key(project, keys).items()}


def assignments_by_key(project: Project, keys: Sequence[str]) -> dict[str, Assignment]:
    """Return the reviewed submissions' assignments by the key of their unit."""
    ids = [UUID(key) for key in keys if _is_submission_key(key)]
    found: dict[str, Assignment] = {}
    for chunk in collected.id_chunks(ids):
        rows = Assignment.objects.filter(submission__in=chunk, hit__unit__batch__project=project)
        for row in rows.select_related("worker", "submission", "hit__unit__batch__project"):
            if row.submission_id is not None:
                found[submission_key(row.submission_id)] = row
    return found


def advice_token(environment: str, assignment_id: str) -> str:
    """Return the token of the message with a review's advice; ``assignment_id`` is the review's."""
    return request_token(environment, ADVICE_KEY, assignment_id)


def reviews_with_unsent_advice(project: Project | None = None) -> list[Assignment]:
    """Return the approved reviews whose advice is not planned as a message yet, oldest first.

    A researcher, or the automatic approval, has accepted the text before its author reads it.
    """
    rows = Assignment.objects.filter(
        match=SubmissionMatch.MATCHED,
        status=AssignmentStatus.APPROVED,
        hit__unit__batch__kind=submission_spec().name,
    )
    if project is not None:
        rows = rows.filter(hit__unit__batch__project=project)
    # Most reviews are planned: only the others are read as a whole.
    facts = rows.values_list("hit__environment", "assignment_id", "pk")
    tokens = {advice_token(environment, assignment_id): pk for environment, assignment_id, pk in facts}
    for chunk in collected.id_chunks(sorted(tokens)):
        for token in OutgoingCall.objects.filter(token__in=chunk).values_list("token", flat=True):
            tokens.pop(token, None)
    whole = rows.select_related("submission", "hit__unit__batch__project").order_by("pk")
    return [
        row for chunk in collected.id_chunks(sorted(tokens.values())) for row in whole.filter(pk__in=chunk)
    ]


def count_waiting_reviews(project: Project) -> int:
    """Return the number of reviews that wait for approval; their advice is not sent before."""
    rows = Assignment.objects.filter(
        match=SubmissionMatch.MATCHED,
        status=AssignmentStatus.SUBMITTED,
        hit__unit__batch__project=project,
        hit__unit__batch__kind=submission_spec().name,
    )
    return rows.count()


def reviewers(project: Project) -> list[Worker]:
    """Return the workers who hold the reviewers' qualification, in order."""
    ids = pool_worker_ids(project, Pool.WORK_REVIEWERS)
    return list(Worker.objects.filter(pk__in=ids).order_by("pk"))


def reviewers_by_record(project: Project, ids: Sequence[str]) -> dict[str, list[Worker]]:
    """Return the workers who opened a review of records, by published id; records that nobody opened are left out.

    An opened page counts without a submitted review, because it shows the texts. Two queries for 5,000 records.
    """
    by_key: dict[str, list[str]] = defaultdict(list)
    for chunk in collected.id_chunks(ids):
        rows = Record.objects.filter(project=project, instance_id__in=chunk, submission__isnull=False)
        for record_id, submission_id in rows.values_list("instance_id", "submission_id"):
            if submission_id is not None:
                by_key[submission_key(submission_id)].append(record_id)
    found: dict[str, list[Worker]] = defaultdict(list)
    opened = Attempt.objects.filter(
        hit__unit__batch__project=project, hit__unit__batch__kind=submission_spec().name
    )
    opened = opened.select_related("worker", "hit__unit").defer("hit__unit__payload")
    for chunk in collected.id_chunks(sorted(by_key)):
        for attempt in opened.filter(hit__unit__key__in=chunk):
            for record_id in by_key[attempt.hit.unit.key]:
                found[record_id].append(attempt.worker)
    return dict(found)


def review_counts_by_reviewer(project: Project) -> dict[int, int]:
    """Return how many reviews each reviewer submitted; one query."""
    rows = Assignment.objects.filter(
        Q(hit__unit__batch__project=project, hit__unit__batch__kind=submission_spec().name),
        counted_assignment_filter(),
    )
    return dict(rows.order_by().values_list("worker").annotate(n=Count("pk")))
