"""Find the rows that a command line names, or list those that exist."""

from django.contrib.auth import get_user_model
from django.contrib.auth.models import AbstractBaseUser

from hits.management.base import input_error
from hits.models import Batch, Project


def find_project(slug: str | None) -> Project:
    """Return the project with that short name."""
    project = Project.objects.filter(slug=slug).first() if slug else None
    if project is None:
        known = (
            ", ".join(Project.objects.values_list("slug", flat=True)) or "none (create_project creates one)"
        )
        problem = f"--project {slug}: there is no such project" if slug else "--project: name a project"
        raise input_error(f"{problem}; known: {known}")
    return project


def find_batch(number: int) -> Batch:
    """Return the batch with that number."""
    batch = Batch.objects.filter(pk=number).select_related("project").first()
    if batch is None:
        known = (
            ", ".join(str(pk) for pk in Batch.objects.order_by("pk").values_list("pk", flat=True)[:10])
            or "none"
        )
        raise input_error(f"batch {number}: there is no such batch; known: {known}")
    return batch


def find_account(name: str) -> AbstractBaseUser:
    """Return the account of that name."""
    found = get_user_model().objects.filter(username=name, is_active=True).first()
    if found is None:
        raise input_error(
            f"--admin {name}: there is no such account; create it with createsuperuser or create_member"
        )
    return found


def validate_image_limit(limit: int | None) -> int | None:
    """Return the maximum number of images, or ``None`` for all."""
    if limit is not None and limit < 1:
        raise input_error(f"--limit {limit}: use 1 or more")
    return limit
