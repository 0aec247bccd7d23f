"""Request feature sets, and record their facts. A pipeline writes the files."""

from dataclasses import asdict, dataclass, replace
from typing import Any

from django.contrib.auth.models import AbstractBaseUser
from django.db import transaction

from curation.features.crops import Crop
from curation.features.encoder import DEFAULT_ENCODER, POOLED_ENCODER, Precision
from curation.features.shards import SHARD_ROWS, FeatureSpec
from curation.models import FeatureSet, Subject
from curation.selectors.images import available_images
from curation.selectors.jobs import FEATURES
from curation.selectors.pairs import accepted_pairs
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
    """What to encode, with which encoder, and how.

    subject: images (all that are not taken down), regions or texts (of approved pairs). region_mode: how regions are
    drawn. text: which text of a pair. encoder: a name of ``curation.features``. shard_rows: rows per shard, the most
    that is lost if a worker dies.
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
            raise Refused(f"region_mode: {self.subject} have no region; omit it")
        if self.subject == Subject.TEXTS:
            check_one_of("text", self.text, TEXTS)
        elif self.text:
            raise Refused(f"text: only for texts, not for {self.subject}; omit it")
        if self.encoder == POOLED_ENCODER and self.subject != Subject.IMAGES:
            raise Refused(f"encoder: {POOLED_ENCODER} encodes images only; use {DEFAULT_ENCODER} or clip:…")
        check_at_least("shard_rows", self.shard_rows, 1)

    @property
    def description(self) -> str:
        """A label of what is encoded."""
        if self.subject == Subject.TEXTS:
            return {"inference": "inferences", "clue": "clues"}[self.text]
        if self.subject == Subject.REGIONS:
            return f"regions ({self.region_mode.replace('_', ' ')})"
        return "photos"


def request_features(
    *,
    project: Project,
    by: AbstractBaseUser | None,
    options: FeatureOptions | None = None,
    queue: bool = True,
) -> Job:
    """Queue the job that makes a feature set; it is split into one sub-job per shard.

    Raises:
        Refused: there is nothing to encode, or no such scorer.
        Conflict: the same set is being spec.
    """
    chosen = options or FeatureOptions()
    chosen = replace(chosen, encoder=resolve_encoder(project, chosen.encoder))
    count = _count_items(project, chosen)
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


def features_path(project: Project, spec: FeatureSpec) -> str:
    """Return the set's folder below the media folder; equal vectors have equal paths."""
    facts = asdict(spec)
    del facts["preprocessing"]  # the revision covers every part of it that changes vectors
    return f"features/{project.pk}/{content_sha256(facts)[:32]}"


@transaction.atomic
def get_or_create_feature_set(*, project: Project, spec: FeatureSpec) -> FeatureSet:
    """Return the row of a set, created as incomplete if it is new."""
    row, _ = FeatureSet.objects.get_or_create(
        project=project, **_id_fields(spec), defaults={"path": features_path(project, spec), **_facts(spec)}
    )
    return row


@transaction.atomic
def complete_features(*, project: Project, spec: FeatureSpec, dim: int, sha256: str) -> FeatureSet:
    """Store that a set is complete, and return its row; it replaces an earlier row of the same set."""
    facts = _facts(spec) | {"path": features_path(project, spec), "dim": dim, "sha256": sha256}
    row, _ = FeatureSet.objects.update_or_create(
        project=project, **_id_fields(spec), defaults=facts | {"is_complete": True}
    )
    return row


def reopen_features(*, row: FeatureSet, spec: FeatureSpec) -> None:
    """Mark a set as incomplete, so that its files are made again."""
    facts = _facts(spec) | {"path": features_path(row.project, spec)}
    FeatureSet.objects.filter(pk=row.pk).update(**facts, is_complete=False, sha256="")


def _id_fields(spec: FeatureSpec) -> dict[str, Any]:
    return {
        "encoder": spec.encoder,
        "revision": spec.revision,
        "subject": spec.subject,
        "region_mode": spec.region_mode,
        "items_sha256": spec.items_sha256,
    }


def _facts(spec: FeatureSpec) -> dict[str, Any]:
    return {"preprocessing": spec.preprocessing, "count": spec.count, "shards": spec.shard_count}


_EMPTY_MESSAGES = {
    Subject.IMAGES: "images: there are none; import some first",
    Subject.REGIONS: "pairs: none is approved yet; approve submissions first",
    Subject.TEXTS: "pairs: none is approved yet; approve submissions first",
}


def _count_items(project: Project, options: FeatureOptions) -> int:
    if options.subject == Subject.IMAGES:
        return len(available_images(project))
    return accepted_pairs(project).count()
