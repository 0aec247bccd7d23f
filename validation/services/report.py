"""Compute judging reports: read all judgments of a kind, and store the figures, also of each worker."""

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
from validation.domain.agreement.box_agreement import DrawnRegion, Region, box_agreement
from validation.domain.agreement.pairwise import pairwise_accuracy
from validation.domain.judging.answer_quality import collect_evidence
from validation.domain.judging.rating_tables import build_tables
from validation.domain.judging.ratings import JudgmentRow, RatingError, RatingTable
from validation.domain.judging.spec import JudgingSpec, Label, Scale
from validation.domain.reports import dimension_report, localization, report
from validation.models import JudgingReport, WorkerQuality
from validation.registry import is_judging_kind, judging_kinds, spec_of
from validation.selectors import report as selectors
from validation.selectors.localization import answer_keys, bootstrap_rng
from validation.selectors.quality import expected_labels_and_originals, min_seconds
from validation.selectors.ratings import read_judgments

HEAVY_JUDGMENTS = 10_000  # judgments; a larger report runs in the queue of long jobs
PROGRESS_STEP = 5_000  # judgments between two progress reports
PERCENT = 100
READ_DONE, DIMENSIONS_DONE, ROUNDS_DONE, RATERS_DONE, QUALITY_DONE = 40, 70, 80, 90, 98  # percent
BOXES_STREAM, PAIRS_STREAM = 100, 101  # added to the seed; dimensions use 0, 1, 2 …
MAX_REPORTS = 50  # stored reports of a kind
INSERT_BATCH_SIZE = 500
ReportProgress = Callable[[int], None]


def request_report(*, project: Project, kind: str, by: AbstractBaseUser | None) -> Job:
    """Queue the computation of a report.

    Raises:
        Refused: no such kind, or no judgments.
        Conflict: a report is queued or being computed already.
    """
    check_judging_kind(kind)
    judgments = selectors.count_judgments(project, kind)
    if not judgments:
        raise Refused("report: there are no judgments yet; launch a round, or import judgments")
    return jobs.enqueue(
        task=selectors.COMPUTE_TASK,
        title=f"Report on {spec_of(kind).title.lower()}",
        project=project,
        by=by,
        exclusive_key=selectors.report_job_key(project, kind),
        target_queue=Queue.CPU if judgments > HEAVY_JUDGMENTS else None,
        kind=kind,
    )


def refresh_reports() -> int:
    """Queue a report for each kind with new judgments since its newest report; return how many.

    It compares only counts and keys, so that it costs little if nothing changed.
    """
    queued = 0
    for project in Project.objects.all():
        for kind in judging_kinds():
            if _is_report_due(project, kind):
                try:
                    request_report(project=project, kind=kind, by=None)
                except (Conflict, Refused):
                    continue  # running already, or all judgments are rejected
                queued += 1
    return queued


def _is_report_due(project: Project, kind: str) -> bool:
    newest = selectors.newest_report(project, kind)
    if newest is None:
        return selectors.count_judgments(project, kind) > 0
    return selectors.is_report_outdated(newest)


def compute_report(
    *,
    project: Project,
    kind: str,
    by: AbstractBaseUser | None = None,
    progress: Progress | None = None,
) -> JudgingReport:
    """Compute the report of a kind from all its judgments, and store it.

    Equal judgments give equal figures, so if the data is unchanged, the stored report is only marked as checked.

    Raises:
        Refused: the kind does not exist or has no judgments, or an answer is not on its scale.
    """
    check_judging_kind(kind)
    spec = spec_of(kind)
    started = time.monotonic()
    report_progress = _make_progress_reporter(progress)
    judgment_count = selectors.count_judgments(project, kind)
    data_state = selectors.data_fingerprint(project, kind)
    all_rows = _read_judgments_with_progress(project, kind, judgment_count, report_progress)
    rows = [row for row in all_rows if row.role is None]
    if not rows:
        raise Refused("report: there are no judgments yet; launch a round, or import judgments")
    expected, originals = expected_labels_and_originals(project, kind)
    target = project.target_cents_per_hour
    regions = selectors.boxes_by_multi_author_image(project, spec)
    truth = answer_keys(project, spec)
    context = [sorted(mapping.items()) for mapping in (expected, regions, truth)]
    sha256 = report.figures_fingerprint(all_rows, kind, target, *context)
    newest = selectors.newest_report(project, kind)
    if newest is not None and newest.data_sha256 == sha256:
        return _mark_checked(newest, judgment_count, data_state)
    try:
        rating_tables = build_tables(rows, spec)
    except RatingError as error:
        raise Refused(f"report: {error}") from error
    figures = _compute_report_figures(project, spec, rows, rating_tables, truth, report_progress)
    figures["boxes"] = _box_figures(regions)
    by_rater = report.rater_figures(rows, rating_tables, spec, target)
    if spec.has_truth:
        report.set_reliability_from_accuracy(by_rater, rows, truth, spec)
    report_progress(RATERS_DONE)
    quality = collect_evidence(
        all_rows, expected=expected, originals=originals, spec=spec, floor_seconds=min_seconds(kind)
    )
    report_progress(QUALITY_DONE)
    figures |= {"counted": judgment_count, "standing": data_state, "controls": len(all_rows) - len(rows)}
    figures["sentence"] = spec.summary(figures)
    new_report = JudgingReport(
        project=project,
        kind=kind,
        data_sha256=sha256,
        judgments=len(rows),
        ratings=sum(table.size for table in rating_tables.values()),
        last_judgment_at=max((row.at for row in all_rows if row.at is not None), default=None),
        figures=figures,
        seconds=time.monotonic() - started,
        computed_by_id=by.pk if by else None,
    )
    return _save_report(new_report, _worker_figures(rows, by_rater, quality))


def check_judging_kind(kind: str) -> None:
    """Check that a kind is a judging kind.

    Raises:
        Refused: it is not; the message lists the judging kinds.
    """
    if not is_judging_kind(kind):
        raise Refused(f"kind {kind}: is not a judging kind; use one of {', '.join(judging_kinds())}")


def _make_progress_reporter(progress: Progress | None) -> ReportProgress:
    def report_progress(percent: int) -> None:
        if progress is not None:
            progress.advance(percent, PERCENT)

    return report_progress


def _read_judgments_with_progress(
    project: Project, kind: str, judgment_count: int, report_progress: ReportProgress
) -> list[JudgmentRow]:
    """Return all judgments and answers to quality checks in the order of submission."""
    rows: list[JudgmentRow] = []
    for row in read_judgments(project=project, kind=kind, roles=None):
        if len(rows) % PROGRESS_STEP == 0:
            report_progress(min(READ_DONE, READ_DONE * len(rows) // max(1, judgment_count)))
        rows.append(row)
    report_progress(READ_DONE)
    return rows


def _compute_report_figures(
    project: Project,
    spec: JudgingSpec,
    rows: Sequence[JudgmentRow],
    rating_tables: Mapping[str, RatingTable],
    truth: Mapping[str, Mapping[str, Label]],
    report_progress: ReportProgress,
) -> dict[str, Any]:
    dimensions = {}
    for number, (name, table) in enumerate(rating_tables.items()):
        dimensions[name] = dimension_report.dimension_figures(spec.dimension(name), table, stream=number)
        done = (DIMENSIONS_DONE - READ_DONE) * (number + 1) // len(rating_tables)
        report_progress(READ_DONE + done)
    for dimension in spec.dimensions:
        if dimension.scale is Scale.TEXT:
            dimensions[dimension.name] = dimension_report.text_figures(dimension, rows, spec)
    target = project.target_cents_per_hour
    by_batch: dict[int, list[JudgmentRow]] = {}
    for row in rows:
        if row.batch is not None:
            by_batch.setdefault(row.batch, []).append(row)
    batches = [report.batch_figures(pk, group, spec, target) for pk, group in sorted(by_batch.items())]
    report_progress(ROUNDS_DONE)
    return {
        "format": report.FIGURES_FORMAT,
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
        "pairwise": _pairwise_accuracy_figures(spec, rating_tables),
        "baseline": _human_baseline_figures(spec, rows, truth),
    }


def _pairwise_accuracy_figures(
    spec: JudgingSpec, rating_tables: Mapping[str, RatingTable]
) -> dict[str, Any] | None:
    """Return how well raters predict one another's order of an item's parts; ``None`` for kinds without an order."""
    if spec.ranking_dimension is None:
        return None
    rng = np.random.default_rng([dimension_report.SEED, PAIRS_STREAM])
    result = asdict(
        pairwise_accuracy(
            rating_tables[spec.ranking_dimension.name], rng=rng, replicates=dimension_report.REPLICATES
        )
    )
    del result["by_set"]
    return result


def _human_baseline_figures(
    spec: JudgingSpec, rows: Sequence[JudgmentRow], truth: Mapping[str, Mapping[str, Label]]
) -> dict[str, Any] | None:
    """Return the accuracy of human raters; ``None`` for kinds whose units do not contain the right answer."""
    if not spec.has_truth:
        return None
    answers = [localization.Matching(row.item, row.rater, spec.truth_labels(row.answer)) for row in rows]
    result = asdict(
        localization.score_matchings(
            answers,
            truth,
            rng=bootstrap_rng(),
            replicates=dimension_report.REPLICATES,
            chance=spec.chance,
        )
    )
    del result["by_image"]
    return result


def _box_figures(regions: Mapping[int, selectors.BoxesByAuthor]) -> dict[str, Any] | None:
    """Return the agreement of different authors' boxes on the same images; ``None`` if no image has two authors."""
    if not regions:
        return None
    ratings = [
        DrawnRegion(image, author, Region(np.array(boxes, dtype=np.float64).reshape(-1, 4)))
        for image, authors in sorted(regions.items())
        for author, boxes in sorted(authors.items())
    ]
    rng = np.random.default_rng([dimension_report.SEED, BOXES_STREAM])
    return asdict(box_agreement(ratings, rng=rng, replicates=dimension_report.REPLICATES))


def _worker_figures(
    rows: Sequence[JudgmentRow],
    by_rater: Mapping[str, dict[str, Any]],
    quality: Mapping[int, Mapping[str, Any]],
) -> dict[int, dict[str, Any]]:
    """Return the figures of each worker by primary key, without raters of imported judgments."""
    raters = {row.worker: row.rater for row in rows if row.worker is not None}
    return {worker: {**by_rater[rater], **quality.get(worker, {})} for worker, rater in raters.items()}


def _save_report(new_report: JudgingReport, workers: Mapping[int, dict[str, Any]]) -> JudgingReport:
    """Save the report and its workers together; delete the oldest reports beyond the maximum.

    If another process has saved the same report meanwhile, that one is kept.
    """
    new_report.figures["checked_at"] = timezone.now().isoformat()
    with transaction.atomic():
        Project.objects.select_for_update().get(pk=new_report.project_id)
        newest = selectors.newest_report(new_report.project, new_report.kind)
        if newest is not None and newest.data_sha256 == new_report.data_sha256:
            return _mark_checked(newest, new_report.figures["counted"], new_report.figures["standing"])
        new_report.save()
        WorkerQuality.objects.bulk_create(
            [
                WorkerQuality(report=new_report, worker_id=worker, rank=rank, figures=workers[worker])
                for rank, worker in enumerate(report.rank_workers(workers), start=1)
            ],
            batch_size=INSERT_BATCH_SIZE,
        )
        reports = JudgingReport.objects.filter(project=new_report.project, kind=new_report.kind)
        JudgingReport.objects.filter(pk__in=list(reports.values_list("pk", flat=True)[MAX_REPORTS:])).delete()
    return new_report


def _mark_checked(existing: JudgingReport, judgment_count: int, data_state: list[int]) -> JudgingReport:
    """Record that a report still has the figures of the current judgments."""
    existing.figures |= {
        "checked_at": timezone.now().isoformat(),
        "counted": judgment_count,
        "standing": data_state,
        "unchanged": True,
    }
    existing.save(update_fields=["figures"])
    return existing
