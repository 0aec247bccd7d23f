"""The family of a project or version."""

from curation import registry
from curation.models import DatasetVersion
from curation.versions.family import Family
from hits.models import Project


def get_family(name: str) -> Family:
    """Return the family with this name.

    Raises:
        PackageNotInstalled: there is no such family; the message lists the known ones.
    """
    family: Family = registry.load_family(name)
    return family


def family_of(project: Project) -> Family:
    """Return a project's family."""
    return get_family(project.family)


def family_of_version(version: DatasetVersion) -> Family:
    """Return the family of a version's project, which cannot change once it has a version."""
    return family_of(version.project)
