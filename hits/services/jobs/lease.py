"""The lease on a running job: the process that works on it renews it, and after its end another one may take over."""

from datetime import datetime, timedelta

from django.db.models import Q

from hits.domain.states import JobState

# The sweeper wakes a job whose worker died after the lease, within a minute.
LEASE = timedelta(seconds=30)


def lost_job_filter(now: datetime) -> Q:
    """Match running jobs with an expired lease, whose process has died."""
    return Q(state=JobState.RUNNING, lease_until__lt=now)
