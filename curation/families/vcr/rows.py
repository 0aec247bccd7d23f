"""Plan the rows of a version: triplets, the object lists of their images, and multiple-choice questions.

A version holds approved triplets on available images. The questions of a split are those of the newest accepted
question set that has the split; but a held split keeps the questions with which it was published first, and gets
none back that a version left out (``curation.selectors.published_questions``). A question is left out if one of its
choices was written for a triplet that the version does not hold; a new set is matched then, and no set is ever
repaired.
"""

from collections import defaultdict
from collections.abc import Callable, Collection, Iterator, Mapping
from dataclasses import dataclass, field
from itertools import groupby
from typing import Any

from curation.families.vcr.published import Row, object_list_row, question_row
from curation.models import DatasetVersion, Question, QuestionSet, QuestionSetState, Stage
from curation.records import InvalidInput
from curation.selectors.image_names import PublishedName, published_names
from curation.selectors.interest import interest_verdicts
from curation.selectors.object_lists import objects_of_records
from curation.selectors.published_questions import (
    PublishedSplits,
    held_sources,
    lasting_questions,
    published_splits,
)
from curation.versions.plan import Plan, PlannedRow, image_reference, image_url, worker_hash
from curation.versions.selection import ExclusionReason
from curation.versions.selection_filter import SelectionFilter
from curation.versions.splits import parse_split
from hits.domain.hashing import content_sha256
from hits.domain.images.detections import DetectedObject
from hits.models import Project, Record
from hits.selectors.records import (
    approved_records,
    approved_records_on_taken_down_images,
    is_simulated,
    record_author,
)

TRIPLET, QUESTION, OBJECT_LIST = "triplet", "question", "object_list"
LOST_A_CHOICE, NO_CHOICES = "question_lost_a_choice", "question_without_choices"
LEFT_OUT_BEFORE = "question_left_out_before"
_CHUNK_SIZE = 1000


@dataclass(frozen=True, slots=True)
class QuestionSource:
    """A question set, and the splits whose questions a version takes from it."""

    question_set: QuestionSet
    splits: frozenset[str]

    def questions(self) -> Any:
        """Return the questions of these splits, in the order of folds and match indices."""
        rows = Question.objects.filter(question_set=self.question_set, split__in=self.splits)
        return rows.order_by("fold", "match_index", "stage")


@dataclass(frozen=True, slots=True)
class _Splits:
    """The splits of triplets in question sets, by row key, of their films, and of what versions published."""

    triplets: Mapping[int, str]
    movies: Mapping[str, str]
    published: PublishedSplits

    def split_of(self, triplet: Record, movie: str) -> str:
        """Return a triplet's split: that of a set, else of its film, else of a sealed version; or empty."""
        own = self.triplets.get(triplet.pk) or self.movies.get(movie)
        return own or self.published.find(movie, triplet.image_id or 0)


@dataclass(slots=True)
class _Planned:
    """What has been planned: triplets by row key, and the metadata file of each object list by image."""

    triplets: set[int] = field(default_factory=set)
    metadata_files: dict[int, dict[str, str]] = field(default_factory=dict)


def plan_rows(version: DatasetVersion, plan: Plan, report_progress: Callable[[int], None]) -> None:
    """Add the version's rows to ``plan``, with the reason for each that is left out.

    Raises:
        InvalidInput: a film would be in two splits, because sets for different splits divide the films differently,
            or labels of held questions could be read from two versions.
        UnknownSplit: an image's split is unknown.
    """
    sources = question_sources(version.project)
    splits = _splits_of_triplets(sources, published_splits(version.project))
    planned = _Planned()
    _plan_triplets(version, plan, splits, planned, report_progress)
    lasting = lasting_questions(version.project, QUESTION)
    for source in sources:
        _plan_questions(version, plan, source, planned, lasting)
    if sources:
        plan.sources |= {"question_sets": [_source_json(source) for source in sources]}


def question_sources(project: Project) -> list[QuestionSource]:
    """Return the sources of questions, newest set first: one set for each split.

    A held split that was published comes from the set that published it, other splits from the newest accepted set.

    Raises:
        InvalidInput: the set that published a held split is no longer accepted, and another set has this split.
    """
    found: list[QuestionSource] = []
    assigned: set[str] = set()
    published = held_sources(project)
    matched_again: dict[str, str] = {}
    accepted = QuestionSet.objects.filter(project=project, state=QuestionSetState.ACCEPTED)
    for question_set in accepted.order_by("-pk"):
        names = question_set.questions.order_by().values_list("split", flat=True).distinct()
        refused = {
            name for name in names if name in published and published[name].question_set != question_set
        }
        matched_again |= dict.fromkeys(refused, question_set.name)
        splits = frozenset(names) - refused - assigned
        if splits:
            found.append(QuestionSource(question_set, splits))
            assigned |= splits
    for split in sorted(matched_again.keys() - assigned):
        source = published[split]
        raise InvalidInput(
            f"split {split}: version {source.version} has its questions from set {source.question_set}; with those "
            f"of set {matched_again[split]} in a second version, anybody could read their labels; accept "
            f"{source.question_set} again, or reject {matched_again[split]}"
        )
    return found


def _source_json(source: QuestionSource) -> dict[str, Any]:
    chosen = source.question_set
    return {
        "name": chosen.name,
        "splits": sorted(source.splits),
        "options": chosen.options,
        "provenance": chosen.provenance,
    }


def _splits_of_triplets(sources: list[QuestionSource], published: PublishedSplits) -> _Splits:
    """Return the splits that question sets give to triplets and films."""
    splits: dict[int, str] = {}
    movies: dict[str, tuple[str, str]] = {}
    for source in sources:
        rows = source.questions().filter(stage=Stage.ANSWER).order_by()
        found = rows.values_list("triplet_id", "triplet__image_id", "movie", "split")
        for triplet, image, movie, split in found.iterator():
            name = source.question_set.name
            if sealed := published.find_contradiction(movie, image, split):
                raise InvalidInput(
                    f"film {movie}: a sealed version has it in {sealed}, and set {name} has it in {split}, so that "
                    "labels of held questions could be read; build a new set, in which films keep their split"
                )
            other_split, other_set = movies.setdefault(movie, (split, name))
            if other_split != split:
                raise InvalidInput(
                    f"film {movie}: is in {other_split} of set {other_set} and in {split} of set {name}; accept one "
                    "set for both splits"
                )
            splits[triplet] = split
    return _Splits(splits, {movie: split for movie, (split, _) in movies.items()}, published)


def _plan_triplets(
    version: DatasetVersion,
    plan: Plan,
    splits: _Splits,
    planned: _Planned,
    report_progress: Callable[[int], None],
) -> None:
    project = version.project
    selection = SelectionFilter(project, TRIPLET, plan.selection, record_types=(TRIPLET,))
    names = published_names(_image_ids_of_triplets(project))
    for number, records in enumerate(_chunks(approved_records(project, TRIPLET))):
        report_progress(number * _CHUNK_SIZE)
        objects = objects_of_records(records)
        for triplet in records:
            exclusion = selection.exclusion_reason(triplet)
            if is_simulated(triplet) and not version.rehearsal:
                plan.exclude_row(TRIPLET, triplet.instance_id, ExclusionReason.SIMULATED)
            elif exclusion is not None:
                plan.exclude_row(TRIPLET, triplet.instance_id, *exclusion)
            else:
                _add_triplet(plan, triplet, objects[triplet.pk], names, splits, planned)
    withdrawn = approved_records_on_taken_down_images(project, TRIPLET).order_by("pk")
    for key in withdrawn.values_list("instance_id", flat=True).iterator(chunk_size=_CHUNK_SIZE):
        plan.exclude_row(TRIPLET, key, ExclusionReason.IMAGE_TAKEN_DOWN)


def _image_ids_of_triplets(project: Project) -> set[int]:
    """Return the images of all triplets, so that published names do not depend on which triplets are left out."""
    rows = Record.objects.filter(project=project, type=TRIPLET, image__isnull=False)
    return set(rows.order_by().values_list("image_id", flat=True).distinct())


def _chunks(rows: Any) -> Iterator[list[Record]]:
    """Yield lists of records, oldest first, so that each list needs few queries."""
    last = 0
    while chunk := list(rows.filter(pk__gt=last)[:_CHUNK_SIZE]):
        yield chunk
        last = chunk[-1].pk


def _add_triplet(
    plan: Plan,
    record: Record,
    objects: list[DetectedObject],
    names: Mapping[int, PublishedName],
    splits: _Splits,
    planned: _Planned,
) -> None:
    image = record.image
    assert image is not None
    name = names[image.pk]
    split = splits.split_of(record, name.movie) or str(parse_split(image.split))
    reference = image_reference(image)
    list_hash = record.fields["objects_sha256"]
    files = planned.metadata_files.setdefault(image.pk, {})
    if list_hash not in files:
        # The first list of an image has the published name; a later list has its hash in the name too.
        files[list_hash] = name.metadata_file if not files else name.metadata_file_of(list_hash)
        row = object_list_row(reference, img_fn=name.file, metadata_fn=files[list_hash], objects=objects)
        key = content_sha256([image_url(image), list_hash])
        plan.add_row(PlannedRow.from_row(OBJECT_LIST, key, split, row, []))
    plan.add_image(image)
    author = record_author(record)
    workers = [] if author is None else [worker_hash(author)]
    row = _triplet_row(record, reference, name, files[list_hash], [found.name for found in objects])
    plan.add_row(PlannedRow.from_row(TRIPLET, record.instance_id, split, row, workers))
    planned.triplets.add(record.pk)


def _triplet_row(
    record: Record, reference: Mapping[str, Any], name: PublishedName, metadata_file: str, objects: list[str]
) -> Row:
    return {
        "instance_id": record.instance_id,
        "image": dict(reference),
        "movie": name.movie,
        "img_fn": name.file,
        "metadata_fn": metadata_file,
        "objects": objects,
        "objects_sha256": record.fields["objects_sha256"],
        "question": record.fields["question"],
        "answer": record.fields["answer"],
        "rationale": record.fields["rationale"],
        "answer_likelihood": record.fields["likelihood"],
    }


def _plan_questions(
    version: DatasetVersion,
    plan: Plan,
    source: QuestionSource,
    planned: _Planned,
    lasting: Mapping[str, Collection[str]],
) -> None:
    numbered_images = _image_numbers(source)
    kept = _kept_indices(source, planned)
    verdicts = interest_verdicts(version.project)
    rows = source.questions().select_related("triplet").iterator(chunk_size=_CHUNK_SIZE)
    for _, pair in groupby(rows, key=lambda row: (row.fold, row.match_index)):
        stages = {row.stage: row for row in pair}
        first = next(iter(stages.values()))
        triplet = first.triplet
        if triplet.pk not in planned.triplets:
            continue  # its triplet is excluded already, with the reason
        reason = _reason_to_leave_out(stages, kept[first.fold])
        if not reason and triplet.instance_id not in lasting.get(first.split, (triplet.instance_id,)):
            reason = LEFT_OUT_BEFORE
        if reason:
            plan.exclude_row(QUESTION, triplet.instance_id, reason)
            continue
        described = plan.rows_by_id(TRIPLET, [triplet.instance_id])[triplet.instance_id]
        row = question_row(
            described,
            {stage: {"choices": row.choices, "label": row.label} for stage, row in sorted(stages.items())},
            annot_id=first.annot_id,
            img_id=f"{first.split}-{numbered_images[first.split][triplet.image_id]}",
            question_number=first.question_number,
            match_fold=first.fold,
            match_index=first.match_index,
            interesting_scores=verdicts.get(triplet.image_id, ()),
        )
        plan.add_row(PlannedRow.from_row(QUESTION, triplet.instance_id, first.split, row, []))


def _image_numbers(source: QuestionSource) -> dict[str, dict[int, int]]:
    """Return the number of each image within its split, in the order of all of the set's questions."""
    numbers: dict[str, dict[int, int]] = defaultdict(dict)
    rows = source.questions().filter(stage=Stage.ANSWER).values_list("split", "triplet__image_id")
    for split, image in rows.iterator(chunk_size=_CHUNK_SIZE):
        numbers[split].setdefault(image, len(numbers[split]))
    return numbers


def _kept_indices(source: QuestionSource, planned: _Planned) -> dict[str, set[int]]:
    """Return the match indices of the triplets that the version holds, by fold."""
    kept: dict[str, set[int]] = defaultdict(set)
    rows = source.questions().filter(stage=Stage.ANSWER).order_by()
    for fold, index, triplet in rows.values_list("fold", "match_index", "triplet_id").iterator():
        if triplet in planned.triplets:
            kept[fold].add(index)
    return kept


def _reason_to_leave_out(stages: Mapping[str, Question], kept: set[int]) -> str:
    """Return why a question is left out, or an empty text."""
    if set(stages) != {Stage.ANSWER, Stage.RATIONALE} or not all(row.choices for row in stages.values()):
        return NO_CHOICES
    sources = {choice["source"] for row in stages.values() for choice in row.choices}
    return "" if sources <= kept else LOST_A_CHOICE
