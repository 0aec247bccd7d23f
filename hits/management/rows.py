"""Find the rows that a command line names, or say which there are."""

from django.contrib.auth import get_user_model
from django.contrib.auth.models import AbstractBaseUser

from hits.management.base import bad_input
from hits.models import Batch, Project


def project_called(slug: str | None) -> Project:
    """Return the project with that short name."""
    project = Project.objects.filter(slug=slug).first() if slug else None
    if project is None:
        known = (
            ", ".join(Project.objects.values_list("slug", flat=True)) or "none yet (create_project makes one)"
        )
        wrong = f"--project {slug}: there is no such project" if slug else "--project: say which one"
        raise bad_input(f"{wrong}; known: {known}")
    return project


def batch_numbered(number: int) -> Batch:
    """Return the batch with that number."""
    batch = Batch.objects.filter(pk=number).select_related("project").first()
    if batch is None:
        known = (
            ", ".join(str(pk) for pk in Batch.objects.order_by("pk").values_list("pk", flat=True)[:10])
            or "none yet"
        )
        raise bad_input(f"batch {number}: there is no such batch; known: {known}")
    return batch


def account_called(name: str) -> AbstractBaseUser:
    """Return the account of that name."""
    found = get_user_model().objects.filter(username=name, is_active=True).first()
    if found is None:
        raise bad_input(
            f"--admin {name}: there is no such account; createsuperuser or create_member makes one"
        )
    return found


def checked_limit(limit: int | None) -> int | None:
    """Return how many images to take at most, or ``None`` for all."""
    if limit is not None and limit < 1:
        raise bad_input(f"--limit {limit}: take at least one image")
    return limit
