"""Whether a worker and a person who uses a project's console are one user of this site.

Only our own marketplace knows the users behind its workers; on a foreign one nothing is known.
"""

from django.conf import settings
from django.contrib.auth import get_user_model
from django.utils.module_loading import import_string

from hits.domain.states import Role
from hits.models import AuditEvent, Project, Worker
from hits.selectors.eligibility.attempt_proof import BUILT_IN_ENVIRONMENT
from hits.selectors.roles import has_role


def works_on_project(environment: str, worker_id: str, project: Project) -> bool:
    """Return whether the worker's user may see the project's console, or has ever acted there."""
    if environment != BUILT_IN_ENVIRONMENT:
        return False
    key = import_string(settings.ACCOUNT_OF_WORKER)(worker_id)
    user = get_user_model().objects.filter(pk=key).first() if key is not None else None
    if user is None:
        return False
    if has_role(user, project, Role.RESEARCHER):
        return True
    return AuditEvent.objects.filter(project=project, actor=user).exists()


def find_own_worker(user: int | None) -> int | None:
    """Return the key of the worker that a user is on our own marketplace; two queries."""
    worker_id = "" if user is None else import_string(settings.WORKER_OF_ACCOUNT)(user)
    if not worker_id:
        return None
    rows = Worker.objects.filter(environment=BUILT_IN_ENVIRONMENT, worker_id=worker_id)
    return rows.values_list("pk", flat=True).first()
