"""A project's settings for image triplets."""

from curation.models import TripletSettings
from hits.domain.answers.scene_facets import DOMAINS
from hits.models import Project


def triplet_settings(project: Project) -> TripletSettings:
    """Return the project's settings, or unsaved default ones."""
    return TripletSettings.objects.filter(project=project).first() or TripletSettings(project=project)


def offered_domains(settings: TripletSettings) -> list[str]:
    """Return the domains that writers choose from."""
    return list(settings.domains) or list(DOMAINS)
