"""Make feature sets: one task per set, and one per shard."""

from celery import shared_task

from curation.selectors.jobs import FEATURE_SHARD, FEATURES
from hits.services.jobs import jobs


@shared_task(name=FEATURES)
def make_features(job_id: int) -> None:
    """Plan a feature set, start sub-jobs for its shards, and seal it when they are made."""
    with jobs.claim_job(job_id) as progress:
        if progress is not None:
            from curation.pipelines import features  # noqa: PLC0415 - loads model libraries

            jobs.set_result(job=progress.job, **features.make_features(progress))


@shared_task(name=FEATURE_SHARD)
def make_feature_shard(job_id: int) -> None:
    """Make one shard."""
    with jobs.claim_job(job_id) as progress:
        if progress is not None:
            from curation.pipelines import features  # noqa: PLC0415 - loads model libraries

            features.make_shard_subjob(progress)
