"""Delete what a worker said about themselves when they ask for it."""

from django.contrib.auth.models import AbstractBaseUser
from django.db import transaction

from hits.models import Demographics, Project, Worker
from hits.services import audit


@transaction.atomic
def forget(*, project: Project, worker: Worker, by: AbstractBaseUser) -> bool:
    """Delete the worker's optional answers in the project; return whether there were any. Repeatable.

    That they were deleted is written down; what they said is not.
    """
    deleted, _ = Demographics.objects.filter(project=project, worker=worker).delete()
    if deleted:
        audit.record(project=project, actor=by, action="demographics.delete", subject=worker.pk)
    return bool(deleted)
