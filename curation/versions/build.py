"""What a version of a project would hold now: rows in the published format, and what is left out and why.

Only confirmed work that was approved, on images that were not taken down; never a simulated answer
outside a rehearsal. Ratings are, for each split, those of the newest round that is judged completely and has sets
in it: paper 000 reports comparison on val and on test (table 3). Source of the format: the published corpus and
leaderboard files.
"""

from collections import Counter
from collections.abc import Iterator
from dataclasses import dataclass, field
from typing import Any

from django.conf import settings

from curation.models import ComparisonRound, ComparisonSet, DatasetVersion, Part
from curation.selectors.rounds import is_judged, launched_rounds, launched_sets
from curation.versions.splits import UnknownSplit, split_of
from hits.domain.hashing import content_sha256, keyed_worker_hash
from hits.domain.states import AssignmentStatus
from hits.models import Image, Observation, Project, Worker
from hits.selectors import observations as collected
from validation.selectors.judging import SetJudgments, likert_judgments

APPROVED = (AssignmentStatus.APPROVED,)


@dataclass(frozen=True, slots=True)
class PlannedImage:
    """An image of a version. ``facts`` are plain JSON: name, size in pixels, credit, licence."""

    url: str
    sha256: str
    facts: dict[str, Any]


@dataclass(frozen=True, slots=True)
class PlannedRow:
    """A row of a version; ``workers`` are keyed hashes."""

    part: Part
    instance_id: str
    split: str
    row: dict[str, Any]
    workers: tuple[str, ...]

    @property
    def sha256(self) -> str:
        """Hash of the row's canonical JSON."""
        return content_sha256(self.row)


@dataclass(frozen=True, slots=True)
class PlannedRound:
    """A comparison round whose ratings a version holds, and the splits that they are of."""

    found: ComparisonRound
    splits: frozenset[str]

    def as_json(self) -> dict[str, Any]:
        """Return by which encoders and options the sets were chosen, as the provenance says it."""
        splits = sorted(self.splits)
        return {**self.found.provenance, "id": self.found.pk, "options": self.found.options, "splits": splits}


@dataclass(slots=True)
class Plan:
    """All that a version would hold, with counts of what is left out by reason.

    ``rounds`` are those whose ratings it holds, newest first; no split is of two.
    """

    images: list[PlannedImage] = field(default_factory=list)
    rows: list[PlannedRow] = field(default_factory=list)
    exclusions: Counter[str] = field(default_factory=Counter)
    rounds: list[PlannedRound] = field(default_factory=list)

    def observations(self) -> Iterator[PlannedRow]:
        """Yield the pairs."""
        return (row for row in self.rows if row.part is Part.OBSERVATION)

    def provenance(self) -> dict[str, Any]:
        """Return where the comparison sets come from; empty without sets.

        ``comparison_rounds`` has every round, newest first, and ``comparison_round`` the newest alone.
        """
        if not self.rounds:
            return {}
        said = [planned.as_json() for planned in self.rounds]
        return {"comparison_round": said[0], "comparison_rounds": said}


def image_url(image: Image) -> str:
    """Return what rows call an image: where it came from, else the path of the file that we keep."""
    return image.source_url or str(image.file.name)


def worker_hash(worker: Worker) -> str:
    """Return the keyed hash of a worker, the only form that leaves the project."""
    return keyed_worker_hash(settings.WORKER_HASH_SECRET, worker.environment, worker.worker_id)


def plan_version(version: DatasetVersion) -> Plan:
    """Return what the version would hold if it were sealed now. Reads only."""
    plan = Plan()
    images: dict[int, Image] = {}
    for observation in collected.accepted(version.project).iterator(chunk_size=1000):
        if observation.submission.simulated and not version.rehearsal:
            plan.exclusions["simulated"] += 1
            continue
        images[observation.image_id] = observation.image
        plan.rows.append(_observation_row(observation))
    plan.exclusions["image_taken_down"] += collected.confirmed_on_withdrawn_images(version.project).count()
    plan.images = [_planned_image(image) for _, image in sorted(images.items())]
    _add_comparison(plan, version.project)
    plan.exclusions += Counter()  # drops what did not happen
    return plan


def _planned_image(image: Image) -> PlannedImage:
    return PlannedImage(
        url=image_url(image),
        sha256=image.sha256,
        facts={
            "name": image.name,
            "width": image.width,
            "height": image.height,
            "credit": image.credit,
            "licence": image.licence,
            "split": str(split_of(image.split)),
        },
    )


def _observation_row(observation: Observation) -> PlannedRow:
    image = observation.image
    return PlannedRow(
        part=Part.OBSERVATION,
        instance_id=observation.instance_id,
        split=str(split_of(image.split)),
        row={
            "inputs": {
                "image": _image_reference(image),
                "bboxes": [
                    {key: box[key] for key in ("height", "width", "left", "top")} for box in observation.boxes
                ],
                "clue": observation.clue,
                "confidence": float(observation.confidence),
                "obs_idx": observation.index,
            },
            "targets": {"inference": observation.inference},
            "instance_id": observation.instance_id,
            "split_idx": None,
        },
        workers=(worker_hash(observation.submission.attempt.worker),),
    )


def _image_reference(image: Image) -> dict[str, Any]:
    return {"url": image_url(image), "width": image.width, "height": image.height}


def _add_comparison(plan: Plan, project: Project) -> None:
    """Add each split's ratings; a set that lost a pair is left out whole."""
    plan.rounds = _newest_judged_rounds(project)
    known = {row.instance_id: row.row for row in plan.observations()}
    for planned in plan.rounds:
        _add_round(plan, planned, known)


def _newest_judged_rounds(project: Project) -> list[PlannedRound]:
    """Return the newest completely judged round of each split in which one has sets, newest first."""
    planned: list[PlannedRound] = []
    taken: set[str] = set()
    for found in launched_rounds(project):
        words = launched_sets(found).order_by().values_list("observation__image__split", flat=True).distinct()
        splits = frozenset(_split_named(word) for word in words) - taken
        if splits and is_judged(found):
            planned.append(PlannedRound(found, splits))
            taken |= splits
    return planned


def _split_named(word: str) -> str:
    """Return the split of a set's photo. An unknown word stays: that photo was taken down, so its sets are lost."""
    try:
        return str(split_of(word))
    except UnknownSplit:
        return word


def _add_round(plan: Plan, planned: PlannedRound, known: dict[str, dict[str, Any]]) -> None:
    batch = planned.found.batch
    assert batch is not None
    judgments = likert_judgments(batch=batch, statuses=APPROVED)
    hashes = {
        worker.pk: worker_hash(worker)
        for worker in Worker.objects.filter(pk__in={pk for s in judgments.values() for pk in s.workers})
    }
    for item in launched_sets(planned.found).select_related("observation__image"):
        if _split_named(item.observation.image.split) not in planned.splits:
            continue
        gold = item.observation.instance_id
        if not {gold, *item.chosen} <= known.keys():
            plan.exclusions["comparison_set_lost_a_pair"] += 1
            continue
        judged = judgments[str(item.pk)]
        plan.rows.append(_comparison_row(item, judged, known, [hashes[pk] for pk in judged.workers]))


def _comparison_row(
    item: ComparisonSet, judged: SetJudgments, known: dict[str, dict[str, Any]], workers: list[str]
) -> PlannedRow:
    gold = item.observation
    inputs = known[gold.instance_id]["inputs"]
    return PlannedRow(
        part=Part.COMPARISON,
        instance_id=gold.instance_id,
        split=str(split_of(gold.image.split)),
        row={
            "Input_iid": gold.instance_id,
            "image": inputs["image"],
            "region": inputs["bboxes"],
            "rank": item.rank,
            "candidates": [
                {
                    "source_iid": candidate.candidate,
                    "inference": known[candidate.candidate]["targets"]["inference"],
                    "annot1": float(candidate.ratings[0]),
                    "annot2": float(candidate.ratings[1]),
                }
                for candidate in judged.candidates
            ],
        },
        workers=tuple(workers[:2]),
    )
