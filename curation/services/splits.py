"""See that a version is the project's, is sealed, and has pairs in a split."""

from curation.families.sherlock.evaluation_plan import ALL
from curation.models import DatasetVersion
from curation.selectors.versions import version_splits
from hits.models import Project
from hits.services.errors import Refused


def check_version(project: Project, version: DatasetVersion) -> None:
    """See that a version is the project's. Raises Refused otherwise."""
    if version.project_id != project.pk:
        raise Refused(f"version: {version.name} is another project's; choose one of {project.name}")


def check_sealed(version: DatasetVersion) -> None:
    """See that a version changes no more. Raises Refused otherwise."""
    if not version.is_sealed:
        raise Refused(f"version: {version.name} is a draft, and may still change; seal it first")


def check_split(version: DatasetVersion, split: str) -> None:
    """See that a version is sealed and has a pair in a split; the empty one is the whole version.

    Raises:
        Refused: it is not, or has none; the message lists those that it has.
    """
    check_sealed(version)
    known = version_splits(version)
    if not known or (split and split not in known):
        names = ", ".join(name or ALL for name in known) or "none"
        raise Refused(f"split: {version.name} has no pair in {split or ALL}; it has {names}")
