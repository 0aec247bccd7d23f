"""Queries on the names that texts should not use (Zellers et al. 2019 §B.3)."""

from curation.models import AvoidedNames
from hits.models import Project


def avoided_names(project: Project) -> dict[str, list[str]]:
    """Return the names by film; those for all photos of the project are under the empty film."""
    return dict(AvoidedNames.objects.filter(project=project).values_list("movie", "names"))
