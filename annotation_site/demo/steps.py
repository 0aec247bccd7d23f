"""The researcher's steps of the demo, each one service call."""

import time
from dataclasses import replace
from pathlib import Path
from typing import Any

from annotation_site.demo.demo_users import DemoUsers, platform_deposits_cents
from annotation_site.demo.player import PlayError
from curation.models import ComparisonRound, DatasetVersion
from curation.services.comparison import RoundOptions, launch_comparison_batch, request_comparison_round
from curation.services.dedup import request_deduplication
from curation.services.versions import create_version, request_seal
from curation.versions.export import WrittenExport, export_version
from curation.versions.families import family_of_version
from curation.versions.photos import NO_PHOTOS
from hits import registry
from hits.domain.states import AssignmentStatus, CallState, SubmissionMatch
from hits.models import Assignment, Batch, Image, Job, OutgoingCall, Record
from hits.mturk.boto import marketplace
from hits.observing.pairs import OBSERVATION
from hits.payments import ledger
from hits.selectors.images.images import list_usable_images
from hits.selectors.records import approved_records
from hits.services.batches.lifecycle import approve_waiting_assignments
from hits.services.collecting.assignment_sync import sync_batch
from hits.services.launching.launch import PlannedUnit, launch_batch
from hits.services.launching.launch_estimate import estimate_cost
from hits.services.launching.terms import LaunchTerms
from hits.services.outbox.outbox import outstanding_calls, settle_outstanding_calls
from validation.domain.qualification.outcome import PassRule
from validation.registry import judging_kinds
from validation.selectors.report import count_judgments
from validation.services.judging import launch_review as launch_review_round
from validation.services.localization import launch_localization as launch_localization_round
from validation.services.report import request_report
from validation.services.rounds import (
    Admission,
    ExamQuestion,
    group_into_sets,
    launch_qualification_round,
    launch_training_round,
)

JOB_TIMEOUT_SECONDS = 600
PAYMENT_TIMEOUT_SECONDS = 120
REVIEWED_PAIRS = 12
MATCHED_PHOTOS = 2
EXAM_QUESTION = ExamQuestion(
    "Which of these is an inference, and no caption?",
    ("The reader means to be back soon.", "A book lies on the bed.", "The lamp is switched on."),
    right=0,
)


def wait_for_job(job: Job) -> None:
    """Wait until a worker process finishes the job. Raises PlayError if it fails or takes too long."""
    deadline = time.monotonic() + JOB_TIMEOUT_SECONDS
    while time.monotonic() < deadline:
        job.refresh_from_db()
        if job.state == "done":
            return
        if job.state in {"failed", "cancelled"}:
            raise PlayError(f"{job.title}: {job.error or job.state}")
        time.sleep(0.2)
    raise PlayError(f"{job.title}: no worker process finished it within {JOB_TIMEOUT_SECONDS} s")


def deduplicate(users: DemoUsers) -> Job:
    """Request one cluster fewer than there are photos, and set one of the most similar two aside."""
    photographs = Image.objects.filter(project=users.project).count()
    return request_deduplication(
        project=users.project, by=users.researcher, clusters=max(1, photographs - 1), set_aside=True
    )


def launch_observations(users: DemoUsers, *, unlaunched_count: int = 0) -> tuple[Batch, Job]:
    """Launch one HIT per photo for two workers each, except for the last ``unlaunched_count`` photos."""
    images = list_usable_images(users.project)
    chosen = images[: max(1, len(images) - unlaunched_count)]
    units = [PlannedUnit(key=f"image-{image.pk}", payload={"image": image.pk}) for image in chosen]
    terms = LaunchTerms(redundancy=2)
    cost = estimate_cost(kind=registry.get_kind("sherlock_observation"), terms=terms, units=len(units))
    return launch_batch(
        project=users.project,
        kind_name="sherlock_observation",
        name=f"{users.project.name}: observations",
        units=units,
        by=users.researcher,
        terms=replace(terms, confirmed_cents=cost.max_cents),  # play money, so nobody has to type it
    )


def launch_qualification(users: DemoUsers) -> tuple[Batch, Job]:
    """Launch the qualification task for nine applicants, with three photos each."""
    found, job = launch_qualification_round(
        project=users.project,
        image_sets=group_into_sets(list_usable_images(users.project), 1),
        applicants=9,
        by=users.researcher,
        name=f"{users.project.name}: qualification",
        admission=Admission(questions=[EXAM_QUESTION], rule=PassRule(exam_needed=1)),
    )
    return found.batch, job


def launch_training(users: DemoUsers) -> tuple[Batch, Job]:
    """Launch training for the workers who will pass."""
    images = [image.pk for image in list_usable_images(users.project)[:2]]
    return launch_training_round(
        project=users.project,
        images=images,
        slots=18,
        by=users.researcher,
        name=f"{users.project.name}: training",
    )


def approve_submissions(users: DemoUsers, batch: Batch) -> None:
    """Collect the submissions, approve and pay them."""
    port = marketplace()
    sync_batch(batch=batch, marketplace=port)
    approve_waiting_assignments(batch=batch, by=users.researcher, marketplace=port)
    # A background worker may execute a payment at this moment.
    deadline = time.monotonic() + PAYMENT_TIMEOUT_SECONDS
    while count := outstanding_calls(port.environment.name, batch=batch).count():
        if time.monotonic() > deadline:
            raise PlayError(f"{batch.name}: {count} payments are outstanding")
        settle_outstanding_calls(marketplace=port, batch=batch)
        time.sleep(0.2)
    if count := OutgoingCall.objects.filter(batch=batch, state=CallState.REFUSED).count():
        raise PlayError(f"{batch.name}: {count} payments were refused")


def launch_review(users: DemoUsers) -> tuple[Batch, Job]:
    """Launch the judging of an evenly spaced sample of the accepted pairs."""
    pairs: list[Record] = list(approved_records(users.project, OBSERVATION))
    step = max(1, len(pairs) // REVIEWED_PAIRS)
    sample = pairs[::step][:REVIEWED_PAIRS]
    name = f"{users.project.name}: review of {len(sample)} pairs"
    return launch_review_round(project=users.project, observations=sample, by=users.researcher, name=name)


def launch_localization(users: DemoUsers) -> tuple[Batch, Job]:
    """Launch the matching of inferences to regions over two photographs."""
    name = f"{users.project.name}: matching"
    return launch_localization_round(
        project=users.project, n=MATCHED_PHOTOS, seed=1, by=users.researcher, name=name
    )


def compute_reports(users: DemoUsers) -> None:
    """Compute the report of each judging kind that has judgments."""
    for kind in [name for name in judging_kinds() if count_judgments(users.project, name)]:
        wait_for_job(request_report(project=users.project, kind=kind, by=users.researcher))


def launch_comparison(users: DemoUsers, min_candidates: int) -> tuple[Batch, Job]:
    """Build comparison sets and launch them for rating."""
    options = RoundOptions(min_candidates=min_candidates)
    wait_for_job(request_comparison_round(project=users.project, by=users.researcher, options=options))
    latest = ComparisonRound.objects.filter(project=users.project).first()
    assert latest is not None
    name = f"{users.project.name}: ratings"
    return launch_comparison_batch(round=latest, by=users.researcher, name=name)


def seal_and_export(
    users: DemoUsers, out: Path, *, photos: str = NO_PHOTOS
) -> tuple[DatasetVersion, WrittenExport]:
    """Seal all approved records, export them, and check the export."""
    number = users.project.versions.count()
    version = create_version(project=users.project, name=f"v0.{number + 1}", by=users.researcher)
    wait_for_job(request_seal(version=version, by=users.researcher))
    version.refresh_from_db()
    written = export_version(version, out / f"{users.project.slug}-{version.name}", photos=photos)
    family_of_version(version).check(written.folder)
    return version, written


def summarize(
    users: DemoUsers,
    batches: list[Batch],
    version: DatasetVersion,
    written: WrittenExport,
    min_candidates: int,
) -> dict[str, Any]:
    """Return the counts and the exported version of a played run."""
    project_ledger = ledger.sum_entries(project=users.project)
    balance = marketplace().get_balance()
    assignments = Assignment.objects.filter(hit__unit__batch__in=batches)
    comparison = batches[-1]
    judgments = sum(
        len(a.submission.answer["ratings"])
        for a in assignments.filter(
            hit__unit__batch=comparison, match=SubmissionMatch.MATCHED
        ).select_related("submission")
        if a.submission is not None
    )
    photographs = Image.objects.filter(project=users.project)
    return {
        "images": photographs.count(),
        "kept": photographs.filter(duplicate_of__isnull=True).count(),
        "hits": sum(batch.units.count() for batch in batches),
        "submissions": assignments.count(),
        "approved": assignments.filter(status=AssignmentStatus.APPROVED).count(),
        "paid_cents": project_ledger.spent,
        "ledger_balanced": _is_balanced(balance.available_cents, balance.on_hold_cents),
        "comparison_sets": comparison.units.count(),
        "judgments": judgments,
        "min_candidates": min_candidates,
        "version": version.name,
        "files": [file.name for file in written.files],
        "folder": str(written.folder),
    }


def _is_balanced(available: int, on_hold: int) -> bool:
    """Return whether our ledger and the account agree, and all deposits are spent, on hold or available."""
    own_ledger = ledger.sum_entries()  # of all projects, since they share the account
    return own_ledger.held == on_hold and platform_deposits_cents() == available + on_hold + own_ledger.spent
