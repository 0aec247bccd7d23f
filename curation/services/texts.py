"""Request analyses of a project's texts, store their results, and record people's reviews of texts.

Nothing here removes or hides a pair. To remove one, a researcher acts on its submission.
"""

import hashlib
import math
from collections.abc import Iterable
from dataclasses import asdict, dataclass
from pathlib import Path
from typing import Any

from django.conf import settings
from django.contrib.auth.models import AbstractBaseUser
from django.db import transaction

from curation.dedup.cuts import Linkage
from curation.files import atomic_file, sha256_if_readable
from curation.models import AnalysisKind, Pair, PairText, TextAnalysis, TextReview, TextScore
from curation.selectors.jobs import ANALYSE_TEXTS
from curation.selectors.pairs import accepted_pairs
from curation.services.options import check_at_least, check_one_of
from curation.texts.captions import CaptionMeasure
from hits.models import Job, Project
from hits.services import audit
from hits.services.errors import BadFile, Refused, StorageFull
from hits.services.jobs import jobs

FOLDER = "texts"  # below the media folder: files read by analyses
MAX_FILE_BYTES = 64 * 2**20
SCORE_BATCH_SIZE = 1_000
MAX_TOPICS = 50
MAX_QUEUED = 500
WORD_LIST, FROM_FILE, MODEL_PREFIX = "words", "file", "hf:"
CAPTION_SOURCES = ("auto", "regions", "alt", "file")
REGION_CHOICES = ("overlap", "image")


@dataclass(frozen=True, slots=True)
class DuplicateOptions:
    """How copies and near-copies are found; defaults are those of Hessel et al. (ECCV 2022), supplement, section E.

    field: the texts to compare. share: the share that soft de-duplication keeps. distance: if set, clusters are cut
    at this distance instead, in the linkage's unit (``curation.dedup.cuts.ByDistance``). cap: the number of exact
    copies to keep. seed: chooses the member of a cluster to keep. split: a split, or empty for all.
    """

    field: str = "inference"
    share: float = 0.8
    distance: float | None = None
    linkage: str = "average"
    cap: int = 3
    seed: int = 0
    split: str = ""

    def __post_init__(self) -> None:
        check_one_of("field", self.field, [field.value for field in PairText])
        check_one_of("linkage", self.linkage, [linkage.value for linkage in Linkage])
        if not 0 < self.share <= 1:
            raise Refused(f"share: {self.share:g} is not between 0 and 1; use for instance 0.8")
        if self.distance is not None and not 0 <= self.distance < math.inf:
            raise Refused(f"distance: {self.distance:g} is negative; use 0 or more, for instance 0.2")
        check_at_least("cap", self.cap, 1)
        check_at_least("seed", self.seed, 0)


@dataclass(frozen=True, slots=True)
class TopicOptions:
    """How LDA topics are fitted, once to clues and once to inferences (Hessel et al., ECCV 2022, section 3.2).

    topics: the number of topics of each. passes: passes over the texts. least_texts: words in fewer texts are
    ignored.
    """

    topics: int = 10
    passes: int = 10
    least_texts: int = 2
    seed: int = 0
    split: str = ""

    def __post_init__(self) -> None:
        check_at_least("topics", self.topics, 2)
        if self.topics > MAX_TOPICS:
            raise Refused(f"topics: {self.topics} are too many; use {MAX_TOPICS} or fewer")
        for name in ("passes", "least_texts"):
            check_at_least(name, getattr(self, name), 1)
        check_at_least("seed", self.seed, 0)


@dataclass(frozen=True, slots=True)
class ToxicityOptions:
    """Which texts are scored, how, and how many of them people review (Hessel et al., ECCV 2022, appendix A.4).

    scorer: ``words``, ``hf:<folder or hub id>`` of a text classifier, or ``file`` for existing scores. label: the
    classifier's label that means toxic; empty tries common names. sample: the number of pairs of each split, 0
    for all. top: the number of texts of each split to review. file, file_name: see ``store_uploaded_file``.
    """

    scorer: str = WORD_LIST
    label: str = ""
    sample: int = 10_000
    top: int = 50
    seed: int = 0
    split: str = ""
    file: str = ""
    file_name: str = ""

    def __post_init__(self) -> None:
        is_model = self.scorer.startswith(MODEL_PREFIX) and len(self.scorer) > len(MODEL_PREFIX)
        if not is_model and self.scorer not in (WORD_LIST, FROM_FILE):
            raise Refused(f"scorer: {self.scorer!r}; use {WORD_LIST}, {FROM_FILE} or hf:<folder or hub id>")
        _check_file_option("scorer", self.scorer, self.file)
        check_at_least("sample", self.sample, 0)
        check_at_least("top", self.top, 1)
        if self.top > MAX_QUEUED:
            raise Refused(f"top: {self.top} are too many to review; use {MAX_QUEUED} or fewer per split")
        check_at_least("seed", self.seed, 0)


@dataclass(frozen=True, slots=True)
class CaptionOptions:
    """How pairs are compared with literal captions of their image (Hessel et al., ECCV 2022, supplement, section D).

    source: ``regions`` (descriptions of an imported source), ``alt`` (the image's alternative text), ``file``, or
    ``auto`` (regions if an image has some, else its alternative text). against: the region descriptions that
    overlap the pair's boxes, or all of the image. most: the maximum number of captions per pair. images: the size of
    a random sample, 0 for all.
    """

    source: str = "auto"
    against: str = "overlap"
    measure: str = CaptionMeasure.MEAN.value
    most: int = 5
    images: int = 2_000
    seed: int = 0
    split: str = ""
    file: str = ""
    file_name: str = ""

    def __post_init__(self) -> None:
        check_one_of("source", self.source, CAPTION_SOURCES)
        _check_file_option("source", self.source, self.file)
        check_one_of("against", self.against, REGION_CHOICES)
        check_one_of("measure", self.measure, [measure.value for measure in CaptionMeasure])
        check_at_least("most", self.most, 1)
        for name in ("images", "seed"):
            check_at_least(name, getattr(self, name), 0)


AnalysisOptions = DuplicateOptions | TopicOptions | ToxicityOptions | CaptionOptions
OPTION_TYPES: dict[AnalysisKind, type[AnalysisOptions]] = {
    AnalysisKind.DUPLICATES: DuplicateOptions,
    AnalysisKind.TOPICS: TopicOptions,
    AnalysisKind.TOXICITY: ToxicityOptions,
    AnalysisKind.CAPTIONS: CaptionOptions,
}
_TITLES = {
    AnalysisKind.DUPLICATES: "Find near-copies among",
    AnalysisKind.TOPICS: "Find the topics of",
    AnalysisKind.TOXICITY: "Score the toxicity of",
    AnalysisKind.CAPTIONS: "Compare with captions",
}


def _check_file_option(name: str, value: str, file: str) -> None:
    if (value == FROM_FILE) != bool(file):
        needed = "name the file to read" if value == FROM_FILE else f"leave the file out, or use {FROM_FILE}"
        raise Refused(f"{name}: {value}; {needed}")


def request_analysis(
    *, project: Project, options: AnalysisOptions, by: AbstractBaseUser | None, queue: bool = True
) -> Job:
    """Queue an analysis of the project's approved pairs; for ``queue`` see ``hits.services.jobs.jobs.enqueue``.

    Raises:
        Refused: there are no approved pairs (in the split).
        Conflict: an analysis of this kind is running.
    """
    kind = next(kind for kind, options_type in OPTION_TYPES.items() if isinstance(options, options_type))
    pairs = accepted_pairs(project)
    count = (pairs.filter(image__split=options.split) if options.split else pairs).count()
    if not count:
        where = f" in the split {options.split}" if options.split else ""
        raise Refused(f"pairs: none is approved{where} yet; approve submissions first")
    return jobs.enqueue(
        task=ANALYSE_TEXTS,
        title=f"{_TITLES[kind]} {count} pair{'s' * (count != 1)}",
        project=project,
        by=by,
        exclusive_key=f"texts:{kind.value}:{project.pk}",
        resumable=True,
        queue=queue,
        kind=kind.value,
        options=asdict(options),
    )


def store_uploaded_file(*, data: bytes) -> str:
    """Store an uploaded file for a job, and return its path below the media folder.

    Raises:
        BadFile: it is empty or too large.
        StorageFull: the disk is full.
    """
    if not data.strip():
        raise BadFile("file: is empty; choose one with rows")
    if len(data) > MAX_FILE_BYTES:
        raise BadFile(f"file: {len(data)} bytes; split it into files of {MAX_FILE_BYTES // 2**20} MiB")
    relative = f"{FOLDER}/{hashlib.sha256(data).hexdigest()}"
    path = stored_file_path(relative)
    if sha256_if_readable(path) != path.name:
        try:
            path.parent.mkdir(parents=True, exist_ok=True)
            with atomic_file(path) as file:
                file.write(data)
        except OSError as error:
            raise StorageFull.from_os_error(error, "file: is missing") from error
    return relative


def stored_file_path(relative: str) -> Path:
    """Return the path of a stored file."""
    return Path(settings.MEDIA_ROOT) / relative


@dataclass(frozen=True, slots=True)
class AnalysisResult:
    """An analysis's results: as JSON, with their provenance and the number of pairs (at least one)."""

    result: dict[str, Any]
    provenance: dict[str, Any]
    pairs: int


@transaction.atomic
def store_analysis(
    *, project: Project, options: AnalysisOptions, result: AnalysisResult, by: AbstractBaseUser | None = None
) -> TextAnalysis:
    """Store an analysis that has no scores."""
    row = _create_analysis(project, options, by)
    return finish_analysis(analysis=row, result=result)


def create_toxicity_analysis(
    *, project: Project, options: ToxicityOptions, by: AbstractBaseUser | None
) -> TextAnalysis:
    """Create an analysis that accepts scores until it is finished; it is not visible before that.

    An earlier, unfinished one of the project is deleted, since only one runs at a time.
    """
    TextAnalysis.objects.filter(project=project, kind=AnalysisKind.TOXICITY.value, pairs=0).delete()
    return _create_analysis(project, options, by)


def _create_analysis(project: Project, options: AnalysisOptions, by: AbstractBaseUser | None) -> TextAnalysis:
    kind = next(kind for kind, options_type in OPTION_TYPES.items() if isinstance(options, options_type))
    return TextAnalysis.objects.create(
        project=project, kind=kind.value, options=asdict(options), created_by_id=by.pk if by else None
    )


def add_missing_scores(*, analysis: TextAnalysis, scores: Iterable[TextScore]) -> None:
    """Add scores; existing ones are left alone, so a resumed run may add them again."""
    TextScore.objects.bulk_create(scores, batch_size=SCORE_BATCH_SIZE, ignore_conflicts=True)


@transaction.atomic
def finish_analysis(*, analysis: TextAnalysis, result: AnalysisResult) -> TextAnalysis:
    """Mark an analysis as finished by setting its number of pairs, which makes it visible."""
    analysis.result, analysis.provenance, analysis.pairs = result.result, result.provenance, result.pairs
    analysis.save(update_fields=["result", "provenance", "pairs"])
    audit.record(
        project=analysis.project,
        actor=analysis.created_by,
        action="texts.analyse",
        subject=analysis.pk,
        kind=analysis.kind,
        pairs=result.pairs,
    )
    return analysis


def record_text_review(
    *, observation: Pair, field: str, is_concern: bool, note: str = "", by: AbstractBaseUser
) -> TextReview:
    """Record a person's review of a text; the latest counts, and earlier ones are kept. The pair is not removed.

    An unchanged review by the same person is not recorded twice.

    Raises:
        Refused: the field is unknown, or the note is too long.
    """
    check_one_of("field", field, [known.value for known in PairText])
    note = " ".join(note.split())
    max_length = TextReview._meta.get_field("note").max_length or math.inf
    if len(note) > max_length:
        raise Refused(f"note: {len(note)} characters; use {max_length} or fewer")
    last = TextReview.objects.filter(observation=observation, field=field).order_by("-pk").first()
    if last and (last.is_concern, last.note, last.by_id) == (is_concern, note, by.pk):
        return last
    new = {"is_concern": is_concern, "note": note, "by_id": by.pk}
    return TextReview.objects.create(observation=observation, field=field, **new)
