"""Delete a worker's demographics on request."""

from django.contrib.auth.models import AbstractBaseUser
from django.db import transaction

from hits.models import Demographics, Project, Worker
from hits.services import audit


@transaction.atomic
def delete_demographics(*, project: Project, worker: Worker, by: AbstractBaseUser) -> bool:
    """Delete the worker's optional answers in the project; return whether there were any. Repeatable.

    The history records the deletion without the answers.
    """
    deleted, _ = Demographics.objects.filter(project=project, worker=worker).delete()
    if deleted:
        audit.record(project=project, actor=by, action="demographics.delete", subject=worker.pk)
    return bool(deleted)
