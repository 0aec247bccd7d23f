"""Compute judging reports: read every judgment of a kind once, and keep figures, workers and fingerprint together."""

import time
from collections.abc import Callable, Mapping, Sequence
from dataclasses import asdict
from typing import Any

import numpy as np
from django.contrib.auth.models import AbstractBaseUser
from django.db import transaction
from django.utils import timezone

from hits.domain.jobs.queues import Queue
from hits.models import Job, Project
from hits.services.errors import Conflict, Refused
from hits.services.jobs import jobs
from hits.services.jobs.jobs import Progress
from validation.domain.agreement.box_agreement import BoxRating, Region, box_agreement
from validation.domain.agreement.pairwise import pairwise_accuracy
from validation.domain.judging.answer_quality import evidence
from validation.domain.judging.rating_tables import tables
from validation.domain.judging.ratings import Judged, RatingError, RatingTable
from validation.domain.judging.spec import JudgingSpec, Label, Scale
from validation.domain.reports import dimension_report, localization, report
from validation.models import JudgingReport, WorkerQuality
from validation.registry import has_spec, names, spec_of
from validation.selectors import report as selectors
from validation.selectors.localization import bootstrap, truths
from validation.selectors.quality import controls_of, floor_of
from validation.selectors.ratings import judged

HEAVY = 10_000  # judgments; above it a report takes too long to stand between jobs that people wait for
STEP = 5_000  # judgments between two looks at whether to stop
PERCENT = 100
READ, DIMENSIONS, ROUNDS, PEOPLE, REST = 40, 70, 80, 90, 98  # how far the work is after each part
STREAM_OF_BOXES, STREAM_OF_PAIRS = 100, 101
KEPT_REPORTS = 50
AT_ONCE = 500
Say = Callable[[int], None]


def request_report(*, project: Project, kind: str, by: AbstractBaseUser | None) -> Job:
    """Queue the computing of a report.

    Raises:
        Refused: no such kind, or nothing was judged.
        Conflict: one is being computed.
    """
    check_kind(kind)
    judgments = selectors.counted(project, kind)
    if not judgments:
        raise Refused("report: nothing has been judged yet; launch a round, or import judgments")
    return jobs.enqueue(
        task=selectors.COMPUTE,
        title=f"Report on {spec_of(kind).title.lower()}",
        project=project,
        by=by,
        exclusive_key=selectors.report_key(project, kind),
        on=Queue.CPU if judgments > HEAVY else None,
        kind=kind,
    )


def refresh_reports() -> int:
    """Queue a report wherever judgments came in since the newest one; return how many.

    Looks at counts and keys alone, so that it costs next to nothing where nothing changed.
    """
    queued = 0
    for project in Project.objects.all():
        for kind in names():
            if _is_behind(project, kind):
                try:
                    request_report(project=project, kind=kind, by=None)
                except (Conflict, Refused):
                    continue  # under way, or nothing stands any more
                queued += 1
    return queued


def _is_behind(project: Project, kind: str) -> bool:
    newest = selectors.latest(project, kind)
    if newest is None:
        return selectors.counted(project, kind) > 0
    return selectors.is_behind(newest)


def compute(
    *,
    project: Project,
    kind: str,
    by: AbstractBaseUser | None = None,
    progress: Progress | None = None,
) -> JudgingReport:
    """Compute the report of a kind from all its judgments, and keep it.

    The same judgments give the same figures, so a report whose data has not changed is only marked as checked.

    Raises:
        Refused: no such kind, nothing was judged, or an answer that is not on its scale.
    """
    check_kind(kind)
    spec = spec_of(kind)
    started = time.monotonic()
    say = _saying(progress)
    counted, standing = selectors.counted(project, kind), selectors.standing_now(project, kind)
    everything = _read(project, kind, counted, say)
    rows = [row for row in everything if row.role is None]
    if not rows:
        raise Refused("report: nothing has been judged yet; launch a round, or import judgments")
    expected, of = controls_of(project, kind)
    target = project.target_cents_per_hour
    regions = selectors.regions_by_author(project, spec)
    key = truths(project, spec)
    about = [sorted(part.items()) for part in (expected, regions, key)]
    sha256 = report.fingerprint(everything, kind, target, *about)
    newest = selectors.latest(project, kind)
    if newest is not None and newest.data_sha256 == sha256:
        return _checked(newest, counted, standing)
    try:
        found = tables(rows, spec)
    except RatingError as error:
        raise Refused(f"report: {error}") from error
    figures = _figures(project, spec, rows, found, key, say)
    figures["boxes"] = _boxes(regions)
    people = report.rater_figures(rows, found, spec, target)
    if spec.has_truth:
        report.add_accuracy(people, rows, key, spec)
    say(PEOPLE)
    quality = evidence(everything, expected=expected, of=of, spec=spec, floor_seconds=floor_of(kind))
    say(REST)
    figures |= {"counted": counted, "standing": standing, "controls": len(everything) - len(rows)}
    figures["sentence"] = spec.sentence(figures)
    made = JudgingReport(
        project=project,
        kind=kind,
        data_sha256=sha256,
        judgments=len(rows),
        ratings=sum(table.size for table in found.values()),
        until=max((row.at for row in everything if row.at is not None), default=None),
        figures=figures,
        seconds=time.monotonic() - started,
        computed_by_id=by.pk if by else None,
    )
    return _kept(made, _by_worker(rows, people, quality))


def check_kind(kind: str) -> None:
    """Refuse what is no kind of judging.

    Raises:
        Refused: naming those that there are.
    """
    if not has_spec(kind):
        raise Refused(f"kind {kind}: is not judged; use one of {', '.join(names())}")


def _saying(progress: Progress | None) -> Say:
    def say(percent: int) -> None:
        if progress is not None:
            progress.advance(percent, PERCENT)

    return say


def _read(project: Project, kind: str, counted: int, say: Say) -> list[Judged]:
    """Return all judgments and control answers, in the order in which they were handed in."""
    rows: list[Judged] = []
    for row in judged(project=project, kind=kind, roles=None):
        if len(rows) % STEP == 0:
            say(min(READ, READ * len(rows) // max(1, counted)))
        rows.append(row)
    say(READ)
    return rows


def _figures(
    project: Project,
    spec: JudgingSpec,
    rows: Sequence[Judged],
    found: Mapping[str, RatingTable],
    key: Mapping[str, Mapping[str, Label]],
    say: Say,
) -> dict[str, Any]:
    dimensions = {}
    for number, (name, table) in enumerate(found.items()):
        dimensions[name] = dimension_report.dimension_figures(spec.dimension(name), table, stream=number)
        say(READ + (DIMENSIONS - READ) * (number + 1) // len(found))
    for text in spec.dimensions:
        if text.scale is Scale.TEXT:
            dimensions[text.name] = dimension_report.text_figures(text, rows, spec)
    target = project.target_cents_per_hour
    by_batch: dict[int, list[Judged]] = {}
    for row in rows:
        if row.batch is not None:
            by_batch.setdefault(row.batch, []).append(row)
    batches = [report.batch_figures(pk, own, spec, target) for pk, own in sorted(by_batch.items())]
    say(ROUNDS)
    return {
        "format": report.FORMAT,
        "kind": spec.name,
        "seed": dimension_report.SEED,
        "replicates": dimension_report.REPLICATES,
        "items": len({row.item for row in rows}),
        "raters": len({row.rater for row in rows}),
        "imported": sum(row.worker is None for row in rows),
        "simulated": sum(row.simulated for row in rows),
        "dimensions": dimensions,
        "batches": batches,
        "time": report.time_figures(rows, target),
        "pairwise": _pairwise(spec, found),
        "baseline": _baseline(spec, rows, key),
    }


def _pairwise(spec: JudgingSpec, found: Mapping[str, RatingTable]) -> dict[str, Any] | None:
    """Return how well people order an item's parts for one another; ``None`` for kinds that order nothing."""
    if spec.ranked is None:
        return None
    rng = np.random.default_rng([dimension_report.SEED, STREAM_OF_PAIRS])
    result = asdict(
        pairwise_accuracy(found[spec.ranked.name], rng=rng, replicates=dimension_report.REPLICATES)
    )
    del result["by_set"]
    return result


def _baseline(
    spec: JudgingSpec, rows: Sequence[Judged], key: Mapping[str, Mapping[str, Label]]
) -> dict[str, Any] | None:
    """Return how often people are right; ``None`` for kinds whose units do not know what is right."""
    if not spec.has_truth:
        return None
    answers = [localization.Matching.of(row.item, row.rater, spec.labels(row.answer)) for row in rows]
    result = asdict(localization.score(answers, key, rng=bootstrap(), replicates=dimension_report.REPLICATES))
    del result["by_image"]
    return result


def _boxes(regions: Mapping[int, selectors.Regions]) -> dict[str, Any] | None:
    """Return how alike several authors' boxes on one image are; ``None`` where no image has two authors."""
    if not regions:
        return None
    ratings = [
        BoxRating(image, author, Region(np.array(boxes, dtype=np.float64).reshape(-1, 4)))
        for image, authors in sorted(regions.items())
        for author, boxes in sorted(authors.items())
    ]
    rng = np.random.default_rng([dimension_report.SEED, STREAM_OF_BOXES])
    return asdict(box_agreement(ratings, rng=rng, replicates=dimension_report.REPLICATES))


def _by_worker(
    rows: Sequence[Judged],
    people: Mapping[str, dict[str, Any]],
    quality: Mapping[int, Mapping[str, Any]],
) -> dict[int, dict[str, Any]]:
    """Return the figures of everybody who works here, by row key; imported raters have no row to link to."""
    raters = {row.worker: row.rater for row in rows if row.worker is not None}
    return {worker: {**people[rater], **quality.get(worker, {})} for worker, rater in raters.items()}


def _kept(made: JudgingReport, workers: Mapping[int, dict[str, Any]]) -> JudgingReport:
    """Write the report and its workers at once; the oldest reports beyond a number of them are forgotten.

    Where somebody else computed the same meanwhile, theirs stands.
    """
    made.figures["checked_at"] = timezone.now().isoformat()
    with transaction.atomic():
        Project.objects.select_for_update().get(pk=made.project_id)
        newest = selectors.latest(made.project, made.kind)
        if newest is not None and newest.data_sha256 == made.data_sha256:
            return _checked(newest, made.figures["counted"], made.figures["standing"])
        made.save()
        WorkerQuality.objects.bulk_create(
            [
                WorkerQuality(report=made, worker_id=worker, rank=rank, figures=workers[worker])
                for rank, worker in enumerate(report.ranked(workers), start=1)
            ],
            batch_size=AT_ONCE,
        )
        old = JudgingReport.objects.filter(project=made.project, kind=made.kind)
        JudgingReport.objects.filter(pk__in=list(old.values_list("pk", flat=True)[KEPT_REPORTS:])).delete()
    return made


def _checked(found: JudgingReport, counted: int, standing: list[int]) -> JudgingReport:
    """Note on an unchanged report that it was compared with the judgments just now."""
    found.figures |= {
        "checked_at": timezone.now().isoformat(),
        "counted": counted,
        "standing": standing,
        "unchanged": True,
    }
    found.save(update_fields=["figures"])
    return found
