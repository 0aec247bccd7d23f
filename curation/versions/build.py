"""What a version of a project would hold now: rows in the published format, and what is left out and why.

Only confirmed work that was approved, on images that were not taken down; never a simulated answer
outside a rehearsal. Ratings are, for each split, those of the newest round that is judged completely and has sets
in it: paper 000 reports comparison on val and on test (table 3). Source of the format: the published corpus and
leaderboard files.
"""

import json
from collections import Counter
from collections.abc import Callable, Iterable, Iterator
from dataclasses import dataclass
from typing import Any

from django.conf import settings

from curation.models import ComparisonRound, ComparisonSet, DatasetVersion, Part
from curation.selectors.rounds import is_judged, launched_rounds, launched_sets
from curation.versions.seal import SealedImage, SealedRow, annotators_sha256
from curation.versions.splits import UnknownSplit, split_of
from curation.versions.spool import BATCH, Spool, packed
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
    """A row of a version; ``workers`` are keyed hashes, ``sha256`` is the hash of the row's canonical JSON."""

    part: Part
    instance_id: str
    split: str
    row: dict[str, Any]
    workers: tuple[str, ...]
    sha256: str


@dataclass(frozen=True, slots=True)
class PlannedRound:
    """A comparison round whose ratings a version holds, and the splits that they are of."""

    found: ComparisonRound
    splits: frozenset[str]

    def as_json(self) -> dict[str, Any]:
        """Return by which encoders and options the sets were chosen, as the provenance says it."""
        splits = sorted(self.splits)
        return {**self.found.provenance, "id": self.found.pk, "options": self.found.options, "splits": splits}


_SCHEMA = """
CREATE TABLE image (pk INTEGER PRIMARY KEY, url TEXT, sha256 TEXT, facts TEXT);
CREATE TABLE planned (pk INTEGER PRIMARY KEY, part TEXT, instance_id TEXT, split TEXT, sha256 TEXT, workers TEXT,
    row TEXT);
CREATE INDEX planned_by_id ON planned (instance_id, part);
"""
_ROWS = "SELECT part, instance_id, split, sha256, workers, row FROM planned "


class Plan:
    """All that a version would hold, with counts of what is left out by reason. Its rows wait on the disk.

    ``rounds`` are those whose ratings it holds, newest first; no split is of two.
    """

    def __init__(self) -> None:
        self.exclusions: Counter[str] = Counter()
        self.rounds: list[PlannedRound] = []
        self._spool = Spool(_SCHEMA)

    def add_row(self, row: PlannedRow) -> None:
        """Plan a row."""
        self._spool.run(
            "INSERT INTO planned (part, instance_id, split, sha256, workers, row) VALUES (?, ?, ?, ?, ?, ?)",
            (row.part.value, row.instance_id, row.split, row.sha256, packed(row.workers), packed(row.row)),
        )

    def add_image(self, key: int, image: PlannedImage) -> None:
        """Plan an image by its row's key."""
        values = (key, image.url, image.sha256, packed(image.facts))
        self._spool.run("INSERT INTO image VALUES (?, ?, ?, ?)", values)

    @property
    def image_count(self) -> int:
        """How many images it would hold."""
        return int(self._spool.first("SELECT count(*) FROM image"))

    @property
    def row_count(self) -> int:
        """How many rows it would hold, of all parts."""
        return int(self._spool.first("SELECT count(*) FROM planned"))

    @property
    def images(self) -> Iterator[PlannedImage]:
        """The images, oldest first."""
        for url, sha256, facts in self._spool.rows("SELECT url, sha256, facts FROM image ORDER BY pk"):
            yield PlannedImage(url, sha256, json.loads(facts))

    @property
    def rows(self) -> Iterator[PlannedRow]:
        """The rows, in the order in which they were planned."""
        return self._rows("ORDER BY pk")

    def observations(self) -> Iterator[PlannedRow]:
        """Yield the pairs."""
        return self._rows("WHERE part = ? ORDER BY pk", Part.OBSERVATION.value)

    def pairs(self, ids: Iterable[str]) -> dict[str, dict[str, Any]]:
        """Return the published rows of some pairs by id; those that it would not hold are missing."""
        found = (
            row
            for key in ids
            for row in self._rows("WHERE instance_id = ? AND part = ?", key, Part.OBSERVATION)
        )
        return {row.instance_id: row.row for row in found}

    def sealed_images(self) -> Iterator[SealedImage]:
        """Yield what the seal says of each image."""
        return (SealedImage(image.url, image.sha256, image.facts) for image in self.images)

    def sealed_rows(self) -> Iterator[SealedRow]:
        """Yield what the seal says of each row."""
        for part, key, split, sha256, workers in self._spool.rows(
            "SELECT part, instance_id, split, sha256, workers FROM planned ORDER BY pk"
        ):
            yield SealedRow(part, key, split, sha256, annotators_sha256(key, json.loads(workers)))

    def _rows(self, which: str, *values: str) -> Iterator[PlannedRow]:
        for part, key, split, sha256, workers, row in self._spool.rows(_ROWS + which, values):
            yield PlannedRow(Part(part), key, split, json.loads(row), tuple(json.loads(workers)), sha256)

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


def plan_version(version: DatasetVersion, follow: Callable[[int], None] | None = None) -> Plan:
    """Return what the version would hold if it were sealed now. Reads only.

    Args:
        follow: is told from time to time how many pairs were read.

    Raises:
        UnknownSplit: a photo's split is none that we know.
    """
    plan = Plan()
    images: set[int] = set()
    for number, observation in enumerate(collected.accepted(version.project).iterator(chunk_size=BATCH)):
        if follow is not None and number % BATCH == 0:
            follow(number)
        if observation.submission.simulated and not version.rehearsal:
            plan.exclusions["simulated"] += 1
            continue
        if observation.image_id not in images:
            images.add(observation.image_id)
            plan.add_image(observation.image_id, _planned_image(observation.image))
        plan.add_row(_observation_row(observation))
    plan.exclusions["image_taken_down"] += collected.confirmed_on_withdrawn_images(version.project).count()
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
    row = {
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
    }
    return PlannedRow(
        part=Part.OBSERVATION,
        instance_id=observation.instance_id,
        split=str(split_of(image.split)),
        row=row,
        workers=(worker_hash(observation.submission.attempt.worker),),
        sha256=content_sha256(row),
    )


def _image_reference(image: Image) -> dict[str, Any]:
    return {"url": image_url(image), "width": image.width, "height": image.height}


def _add_comparison(plan: Plan, project: Project) -> None:
    """Add each split's ratings; a set that lost a pair is left out whole."""
    plan.rounds = _newest_judged_rounds(project)
    for planned in plan.rounds:
        _add_round(plan, planned)


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


def _add_round(plan: Plan, planned: PlannedRound) -> None:
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
        wanted = {gold, *item.chosen}
        known = plan.pairs(wanted)
        if not wanted <= known.keys():
            plan.exclusions["comparison_set_lost_a_pair"] += 1
            continue
        judged = judgments[str(item.pk)]
        plan.add_row(_comparison_row(item, judged, known, [hashes[pk] for pk in judged.workers]))


def _comparison_row(
    item: ComparisonSet, judged: SetJudgments, known: dict[str, dict[str, Any]], workers: list[str]
) -> PlannedRow:
    gold = item.observation
    inputs = known[gold.instance_id]["inputs"]
    row = {
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
    }
    return PlannedRow(
        part=Part.COMPARISON,
        instance_id=gold.instance_id,
        split=str(split_of(gold.image.split)),
        row=row,
        workers=tuple(workers[:2]),
        sha256=content_sha256(row),
    )
