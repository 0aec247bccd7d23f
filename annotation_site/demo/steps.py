"""The researcher's steps of the rehearsal, each one service call."""

from collections.abc import Callable
from dataclasses import replace
from pathlib import Path
from typing import Any

from annotation_site.demo.demo_users import Cast, deposited_cents
from annotation_site.demo.player import PlayError
from curation.families.sherlock.read import check_export
from curation.models import ComparisonRound, DatasetVersion
from curation.services import (
    RoundOptions,
    create_version,
    launch_comparison_batch,
    request_comparison_round,
    request_deduplication,
    request_seal,
)
from curation.versions.export import Written, export_version
from hits import registry
from hits.domain.states import AssignmentStatus, Match
from hits.models import Assignment, Batch, Image, Job, Record
from hits.mturk.boto import marketplace
from hits.observing.pairs import OBSERVATION
from hits.payments import ledger
from hits.selectors.images.images import usable
from hits.selectors.records import accepted
from hits.services.batches.lifecycle import approve_waiting
from hits.services.collecting.collect import sync_batch
from hits.services.launching.launch import PlannedUnit, launch_batch
from hits.services.launching.launch_estimate import estimate
from hits.services.launching.terms import Terms
from validation.domain.qualification.outcome import PassRule
from validation.registry import names
from validation.selectors.report import counted
from validation.services.judging import launch_review as launch_review_round
from validation.services.localization import launch_localization as launch_localization_round
from validation.services.report import request_report
from validation.services.rounds import (
    Admission,
    Question,
    in_sets,
    launch_qualification_round,
    launch_training_round,
)

REVIEWED_PAIRS = 12
MATCHED_PHOTOS = 2
EXAM = Question(
    "Which of these is an inference, and no caption?",
    ("The reader means to be back soon.", "A book lies on the bed.", "The lamp is switched on."),
    right=0,
)
WaitFor = Callable[[Job], Job]


def deduplicate(cast: Cast) -> Job:
    """Ask for one cluster fewer than there are photographs, and set one of the likest two aside."""
    photographs = Image.objects.filter(project=cast.project).count()
    return request_deduplication(
        project=cast.project, by=cast.researcher, clusters=max(1, photographs - 1), set_aside=True
    )


def launch_observations(cast: Cast, *, leave: int = 0) -> tuple[Batch, Job]:
    """Launch one HIT per photograph, for two workers each; ``leave`` so many out, where there are others."""
    images = usable(cast.project)
    chosen = images[: max(1, len(images) - leave)]
    units = [PlannedUnit(key=f"image-{image.pk}", payload={"image": image.pk}) for image in chosen]
    terms = Terms(opinions=2)
    cost = estimate(kind=registry.get("sherlock_observation"), terms=terms, units=len(units))
    return launch_batch(
        project=cast.project,
        kind_name="sherlock_observation",
        name=f"{cast.project.name}: observations",
        units=units,
        by=cast.researcher,
        terms=replace(terms, confirmed_cents=cost.most_cents),  # play money, so nobody is asked to type it
    )


def launch_qualification(cast: Cast) -> tuple[Batch, Job]:
    """Open the road to the project's pool: nine places for applicants, three photographs each."""
    found, job = launch_qualification_round(
        project=cast.project,
        image_sets=in_sets(usable(cast.project), 1),
        applicants=9,
        by=cast.researcher,
        name=f"{cast.project.name}: qualification",
        admission=Admission(questions=[EXAM], rule=PassRule(exam_needed=1)),
    )
    return found.batch, job


def launch_training(cast: Cast) -> tuple[Batch, Job]:
    """Offer training to those who will have passed."""
    images = [image.pk for image in usable(cast.project)[:2]]
    return launch_training_round(
        project=cast.project,
        images=images,
        places=18,
        by=cast.researcher,
        name=f"{cast.project.name}: training",
    )


def approve_all(cast: Cast, batch: Batch) -> None:
    """Copy what was submitted, approve and pay it."""
    port = marketplace()
    sync_batch(batch=batch, marketplace=port)
    done = approve_waiting(batch=batch, by=cast.researcher, marketplace=port)
    if done.outstanding:
        raise PlayError(f"{batch.name}: {done.outstanding} payments are outstanding")


def launch_review(cast: Cast) -> tuple[Batch, Job]:
    """Launch a review of an even sample of the accepted pairs."""
    pairs: list[Record] = list(accepted(cast.project, OBSERVATION))
    step = max(1, len(pairs) // REVIEWED_PAIRS)
    sample = pairs[::step][:REVIEWED_PAIRS]
    name = f"{cast.project.name}: review of {len(sample)} pairs"
    return launch_review_round(project=cast.project, observations=sample, by=cast.researcher, name=name)


def launch_localization(cast: Cast) -> tuple[Batch, Job]:
    """Launch the matching of inferences to regions over two photographs."""
    name = f"{cast.project.name}: matching"
    return launch_localization_round(
        project=cast.project, n=MATCHED_PHOTOS, seed=1, by=cast.researcher, name=name
    )


def compute_reports(cast: Cast, wait_for: WaitFor) -> None:
    """Compute the report of each kind of judging that was done."""
    for kind in [name for name in names() if counted(cast.project, name)]:
        wait_for(request_report(project=cast.project, kind=kind, by=cast.researcher))


def launch_comparison(cast: Cast, min_candidates: int, wait_for: WaitFor) -> tuple[Batch, Job]:
    """Build comparison sets, and launch them for rating."""
    options = RoundOptions(min_candidates=min_candidates)
    job = request_comparison_round(project=cast.project, by=cast.researcher, options=options)
    wait_for(job)
    latest = ComparisonRound.objects.filter(project=cast.project).first()
    assert latest is not None
    name = f"{cast.project.name}: ratings"
    return launch_comparison_batch(round=latest, by=cast.researcher, name=name)


def seal_and_export(cast: Cast, out: Path, wait_for: WaitFor) -> tuple[DatasetVersion, Written]:
    """Seal everything that is approved, export it, and read the export back."""
    number = cast.project.versions.count()
    version = create_version(project=cast.project, name=f"v0.{number + 1}", by=cast.researcher)
    wait_for(request_seal(version=version, by=cast.researcher))
    version.refresh_from_db()
    written = export_version(version, out / f"{cast.project.slug}-{version.name}")
    check_export(written.folder)
    return version, written


def summary(
    cast: Cast, batches: list[Batch], version: DatasetVersion, written: Written, min_candidates: int
) -> dict[str, Any]:
    """Return what the rehearsal made, counted from the rows."""
    ours = ledger.totals(project=cast.project)
    balance = marketplace().balance()
    assignments = Assignment.objects.filter(hit__unit__batch__in=batches)
    comparison = batches[-1]
    judgments = sum(
        len(a.submission.answer["ratings"])
        for a in assignments.filter(hit__unit__batch=comparison, match=Match.MATCHED).select_related(
            "submission"
        )
        if a.submission is not None
    )
    photographs = Image.objects.filter(project=cast.project)
    return {
        "images": photographs.count(),
        "kept": photographs.filter(duplicate_of__isnull=True).count(),
        "hits": sum(batch.units.count() for batch in batches),
        "submissions": assignments.count(),
        "approved": assignments.filter(status=AssignmentStatus.APPROVED).count(),
        "paid_cents": ours.spent,
        "ledger_balanced": _balanced(balance.available_cents, balance.on_hold_cents),
        "comparison_sets": comparison.units.count(),
        "judgments": judgments,
        "min_candidates": min_candidates,
        "version": version.name,
        "files": [file.name for file in written.files],
        "folder": str(written.folder),
    }


def _balanced(available: int, on_hold: int) -> bool:
    """Compare our ledger with the marketplace's account: what was deposited is spent, held, or there."""
    ours = ledger.totals()  # of all projects, since they share the account
    return ours.held == on_hold and deposited_cents() == available + on_hold + ours.spent
