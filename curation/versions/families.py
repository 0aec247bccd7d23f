"""The family of a project or a version, with its type."""

from curation import registry
from curation.models import DatasetVersion
from curation.versions.family import Family
from hits.models import Project


def get_family(name: str) -> Family:
    """Return the family called so.

    Raises:
        NotInstalled: there is no such folder; the message lists the known families.
    """
    family: Family = registry.load_family(name)
    return family


def family_of(project: Project) -> Family:
    """Return a project's family."""
    return get_family(project.family)


def family_of_version(version: DatasetVersion) -> Family:
    """Return the family of a version: its project's, which never changes once it has a version."""
    return family_of(version.project)
