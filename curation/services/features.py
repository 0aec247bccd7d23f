"""Feature sets: ask for one, and write down which vectors were made of what. A pipeline makes the files."""

from dataclasses import asdict, dataclass, replace
from pathlib import Path
from typing import Any

from django.conf import settings
from django.contrib.auth.models import AbstractBaseUser
from django.db import transaction

from curation.features.encoder import DEFAULT_ENCODER, POOLED_ENCODER, Precision
from curation.features.regions import Crop
from curation.features.shards import SHARD_ROWS, FeatureSpec
from curation.models import FeatureSet, Subject
from curation.selectors import pairs as collected
from curation.selectors.images import available_images
from curation.selectors.jobs import FEATURES
from curation.services.options import check_at_least, check_one_of
from curation.services.scorers import resolve_encoder
from hits.domain.hashing import content_sha256
from hits.domain.images.region_drawing import RegionMode
from hits.models import Job, Project
from hits.services.errors import Refused
from hits.services.jobs import jobs

TEXTS = ("inference", "clue")
SUBJECTS = tuple(subject.value for subject in Subject)
MODES = tuple(mode.value for mode in RegionMode)
PRECISIONS = tuple(precision.value for precision in Precision)
CROPS = tuple(crop.value for crop in Crop)


@dataclass(frozen=True, slots=True)
class FeatureOptions:
    """What is encoded, with what, and how.

    subject: images (all that were not taken down), regions or texts (of approved pairs). region_mode: how a region
    is drawn; for regions. text: which text; for texts. encoder: a name that ``curation.features`` knows.
    shard_rows: how much is lost at most when a worker dies.
    """

    subject: str = Subject.IMAGES.value
    region_mode: str = ""
    text: str = ""
    encoder: str = DEFAULT_ENCODER
    precision: str = Precision.AUTO.value
    crop: str = Crop.TWO_SQUARES.value
    shard_rows: int = SHARD_ROWS

    def __post_init__(self) -> None:
        check_one_of("subject", self.subject, SUBJECTS)
        check_one_of("precision", self.precision, PRECISIONS)
        check_one_of("crop", self.crop, CROPS)
        if self.subject == Subject.REGIONS:
            check_one_of("region_mode", self.region_mode, MODES)
        elif self.region_mode:
            raise Refused(f"region_mode: {self.subject} have no region; leave it out")
        if self.subject == Subject.TEXTS:
            check_one_of("text", self.text, TEXTS)
        elif self.text:
            raise Refused(f"text: {self.subject} are no texts; leave it out")
        if self.encoder == POOLED_ENCODER and self.subject != Subject.IMAGES:
            raise Refused(f"encoder: {POOLED_ENCODER} encodes images only; use {DEFAULT_ENCODER} or clip:…")
        check_at_least("shard_rows", self.shard_rows, 1)

    @property
    def description(self) -> str:
        """What is encoded, in words."""
        if self.subject == Subject.TEXTS:
            return {"inference": "inferences", "clue": "clues"}[self.text]
        if self.subject == Subject.REGIONS:
            return f"regions ({self.region_mode.replace('_', ' ')})"
        return self.subject


def request_features(
    *,
    project: Project,
    by: AbstractBaseUser | None,
    options: FeatureOptions | None = None,
    queue: bool = True,
) -> Job:
    """Queue the making of a feature set, which is split into one job a shard.

    Raises:
        Refused: there is nothing to encode, or no such scorer.
        Conflict: the same set is being made.
    """
    chosen = options or FeatureOptions()
    chosen = replace(chosen, encoder=resolve_encoder(project, chosen.encoder))
    count = _count(project, chosen)
    if not count:
        raise Refused(_EMPTY_MESSAGES[Subject(chosen.subject)])
    return jobs.enqueue(
        task=FEATURES,
        title=f"Encode {count} {chosen.description} with {chosen.encoder}"[:160],
        project=project,
        by=by,
        exclusive_key=f"features:{project.pk}:{content_sha256(asdict(chosen))[:32]}",
        resumable=True,
        queue=queue,
        options=asdict(chosen),
    )


def features_folder(row: FeatureSet) -> Path:
    """Return where a set's files lie."""
    return Path(settings.MEDIA_ROOT) / row.path


def features_path(project: Project, made: FeatureSpec) -> str:
    """Return where such a set lies below the media folder; equal vectors, equal place."""
    facts = asdict(made)
    del facts["preprocessing"]  # the revision names what of it changes vectors
    return f"features/{project.pk}/{content_sha256(facts)[:32]}"


@transaction.atomic
def plan_features(*, project: Project, made: FeatureSpec) -> FeatureSet:
    """Return the row of a set; a new one is not complete yet, and a complete one stays so."""
    row, _ = FeatureSet.objects.get_or_create(
        project=project, **_identity(made), defaults={"path": features_path(project, made), **_facts(made)}
    )
    return row


@transaction.atomic
def complete_features(*, project: Project, made: FeatureSpec, dim: int, sha256: str) -> FeatureSet:
    """Return the row of a set whose manifest is written; it replaces what stood there before."""
    facts = _facts(made) | {"path": features_path(project, made), "dim": dim, "sha256": sha256}
    row, _ = FeatureSet.objects.update_or_create(
        project=project, **_identity(made), defaults=facts | {"is_complete": True}
    )
    return row


def reopen_features(*, row: FeatureSet, made: FeatureSpec) -> None:
    """Say that a set's files are to be made again, in shards as ``made`` says."""
    facts = _facts(made) | {"path": features_path(row.project, made)}
    FeatureSet.objects.filter(pk=row.pk).update(**facts, is_complete=False, sha256="")


def _identity(made: FeatureSpec) -> dict[str, Any]:
    return {
        "encoder": made.encoder,
        "revision": made.revision,
        "subject": made.subject,
        "region_mode": made.region_mode,
        "items_sha256": made.items_sha256,
    }


def _facts(made: FeatureSpec) -> dict[str, Any]:
    return {"preprocessing": made.preprocessing, "count": made.count, "shards": made.shards}


_EMPTY_MESSAGES = {
    Subject.IMAGES: "images: there is none; import some first",
    Subject.REGIONS: "observations: none is approved yet; approve submissions first",
    Subject.TEXTS: "observations: none is approved yet; approve submissions first",
}


def _count(project: Project, options: FeatureOptions) -> int:
    if options.subject == Subject.IMAGES:
        return len(available_images(project))
    return collected.accepted_pairs(project).count()
