"""Change which dataset family a project's versions are of, while it has none."""

from django.contrib.auth.models import AbstractBaseUser
from django.db import transaction

from curation.models import DatasetVersion
from hits.models import Project
from hits.registry import family_names
from hits.services import audit
from hits.services.errors import Conflict, Refused


@transaction.atomic
def set_family(*, project: Project, family: str, by: AbstractBaseUser | None) -> Project:
    """Return the project with its new family.

    Raises:
        Refused: there is no such family; the message names those that there are.
        Conflict: the project has a version, draft or sealed, so that its family stays.
    """
    if family not in family_names():
        raise Refused(f"family: {family!r} is not known; use {', '.join(family_names())}")
    locked = Project.objects.select_for_update().get(pk=project.pk)
    if locked.family == family:
        return locked
    version = DatasetVersion.objects.filter(project=locked).order_by("pk").first()
    if version is not None:
        raise Conflict(
            f"family: {locked.slug} has the version {version.name}, so that its family stays {locked.family}; "
            "make another project"
        )
    before, locked.family = locked.family, family
    locked.save(update_fields=["family"])
    audit.record(
        project=locked, actor=by, action="project.family", subject=locked.pk, before=before, after=family
    )
    return locked
