"""Audit a split for shortcuts: evaluate each one that has no evaluation yet."""

from typing import Any

from curation.evaluation.measures import MEASURES, get_figure
from curation.evaluation.shortcuts import LABELS, MIN_TRAINING_PAIRS, Shortcut
from curation.families.sherlock.evaluation_plan import newest_proposal_run, pairs_of_other_splits
from curation.models import DatasetVersion, Evaluation
from curation.pipelines.inner_jobs import run_inner_job
from curation.selectors.evaluations import baseline_evaluations, find_reusable_evaluation
from curation.services.evaluations import request_baseline_evaluation
from curation.services.shortcuts import ShortcutOptions
from hits.services.jobs.jobs import Progress


def audit_shortcuts(progress: Progress) -> dict[str, Any]:
    """Run a job: measure the baselines in its options, and return the result for the job's page.

    A baseline that needs more pairs than exist is skipped with a log line.

    Raises:
        Refused: a split without pairs on available photos, or a model that is not available; earlier results are
            kept.
        Cancelled: the job was cancelled; a later run continues with the current baseline.
    """
    version = DatasetVersion.objects.select_related("project").get(pk=progress.job.args["version"])
    given = progress.job.args["options"]
    options = ShortcutOptions(split=given["split"], seed=given["seed"], which=tuple(given["which"]))
    rows = []
    for done, name in enumerate(options.which):
        progress.advance(done, total=len(options.which))
        row, _ = get_or_measure_baseline(
            progress, version, split=options.split, shortcut=Shortcut(name), seed=options.seed
        )
        if row is not None:
            rows.append(row)
            progress.log(f"{row.label}: {_describe_figures(row)}")
    progress.advance(len(options.which), total=len(options.which))
    return {"split": options.split, "evaluations": [row.pk for row in rows]}


def get_or_measure_baseline(
    progress: Progress, version: DatasetVersion, *, split: str, shortcut: Shortcut, seed: int
) -> tuple[Evaluation | None, bool]:
    """Return a shortcut's evaluation, existing or new, and whether it is new.

    It is None, with a log line, if there are too few pairs to train on.

    Raises:
        Refused, Cancelled: as ``audit_shortcuts``.
    """
    if (
        shortcut is Shortcut.TEXT_TRAINED
        and (pair_count := len(pairs_of_other_splits(version, split))) < MIN_TRAINING_PAIRS
    ):
        progress.log(
            f"{LABELS[shortcut]}: the other splits have {pair_count} pairs to train on; "
            f"it needs {MIN_TRAINING_PAIRS}"
        )
        return None, False
    row = _find_baseline_evaluation(version, split, shortcut, seed) or request_baseline_evaluation(
        project=version.project,
        by=progress.job.created_by,
        version=version,
        split=split,
        shortcut=shortcut,
        seed=seed,
        queue=False,
    )
    if row.figures:
        return row, False
    assert row.job is not None
    run_inner_job(progress, row.job)
    row.refresh_from_db()
    return row, True


def _find_baseline_evaluation(
    version: DatasetVersion, split: str, shortcut: Shortcut, seed: int
) -> Evaluation | None:
    """Return the existing evaluation, if any; only random scores use proposed boxes."""
    run = newest_proposal_run(version) if shortcut is Shortcut.RANDOM else None
    found = baseline_evaluations(version, split, shortcut.value, seed)
    return find_reusable_evaluation(found, run.pk if run else None)


def _describe_figures(row: Evaluation) -> str:
    """Return a shortcut's main figures as text."""
    shown = []
    for name in ("p_at_1", "gt_accuracy", "comparison"):
        value = get_figure(row.figures, MEASURES[name].figure_path).get("value")
        if value is not None:
            shown.append(f"{MEASURES[name].short} {value:.1f}")
    return ", ".join(shown)
