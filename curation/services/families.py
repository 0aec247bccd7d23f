"""Change the dataset family of a project that has no version yet."""

from django.contrib.auth.models import AbstractBaseUser
from django.db import transaction

from curation.models import DatasetVersion
from hits.models import Project
from hits.registry import family_names
from hits.services import audit
from hits.services.errors import Conflict, Refused


@transaction.atomic
def set_family(*, project: Project, family: str, by: AbstractBaseUser | None) -> Project:
    """Set the project's family and return the project.

    Raises:
        Refused: unknown family; the message lists the known ones.
        Conflict: the project has a version, draft or sealed.
    """
    if family not in family_names():
        raise Refused(f"family: {family!r} is not known; use {', '.join(family_names())}")
    locked = Project.objects.select_for_update().get(pk=project.pk)
    if locked.family == family:
        return locked
    version = DatasetVersion.objects.filter(project=locked).order_by("pk").first()
    if version is not None:
        raise Conflict(
            f"family: {locked.slug} has the version {version.name}, so its family stays {locked.family}; "
            "create another project"
        )
    before, locked.family = locked.family, family
    locked.save(update_fields=["family"])
    change = {"subject": locked.pk, "before": before, "after": family}
    audit.record(project=locked, actor=by, action="project.family", **change)
    return locked
