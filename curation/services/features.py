"""Write down which vectors were made of what. The file itself is written by the pipeline."""

from dataclasses import asdict, dataclass

from django.db import transaction

from curation.models import FeatureSet, Subject
from hits.models import Project


@dataclass(frozen=True, slots=True)
class FeatureFile:
    """A file of vectors: who made them, of what, and where they lie below the media folder."""

    encoder: str
    revision: str
    subject: Subject
    items_sha256: str
    count: int
    dim: int
    path: str
    sha256: str


@transaction.atomic
def store_features(*, project: Project, file: FeatureFile) -> FeatureSet:
    """Return the row of a feature file, made at the first call; a newly written file replaces its facts."""
    facts = asdict(file)
    key = {name: facts.pop(name) for name in ("encoder", "revision", "subject", "items_sha256")}
    row, _ = FeatureSet.objects.update_or_create(project=project, **key, defaults=facts)
    return row
