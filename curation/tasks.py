"""Celery tasks: fetch by id, call a pipeline. The pipelines are imported late, by the worker alone."""

from celery import shared_task

from curation.models import DatasetVersion
from curation.selectors import COMPARISON_ROUND, DEDUPLICATE, SEAL
from curation.services import DedupOptions, RoundOptions, export_folder, seal_version
from hits.services import jobs


@shared_task(name=DEDUPLICATE)
def deduplicate_images(job_id: int) -> None:
    """Mark a project's near-duplicates."""
    with jobs.claimed(job_id) as progress:
        if progress is not None:
            # Inside the claim, so that a missing library fails the job instead of leaving it queued.
            from curation.pipelines import deduplicate  # noqa: PLC0415 - loads model libraries

            job = progress.job
            assert job.project is not None
            found = deduplicate.deduplicate_images(
                project=job.project,
                options=DedupOptions(**job.args["options"]),
                by=job.created_by,
                progress=progress,
            )
            jobs.set_result(job=job, **found.summary())


@shared_task(name=COMPARISON_ROUND)
def build_comparison_round(job_id: int) -> None:
    """Build a comparison round."""
    with jobs.claimed(job_id) as progress:
        if progress is not None:
            from curation.pipelines import comparison  # noqa: PLC0415 - loads model libraries

            job = progress.job
            assert job.project is not None
            found = comparison.build_comparison_round(
                project=job.project,
                options=RoundOptions(**job.args["options"]),
                encoder=job.args.get("encoder", ""),
                by=job.created_by,
                progress=progress,
            )
            jobs.set_result(job=job, round=found.pk, sets=found.sets.count(), skipped=found.skip_counts)


@shared_task(name=SEAL)
def seal(job_id: int) -> None:
    """Seal a version and write its files for download."""
    with jobs.claimed(job_id) as progress:
        if progress is not None:
            job = progress.job
            version = DatasetVersion.objects.select_related("project").get(pk=job.args["version"])
            version = seal_version(version=version, by=job.created_by, progress=progress)
            export_folder(version=version)
            jobs.set_result(job=job, version=version.name, seal=version.manifest_sha256)
