"""What a version of a project would hold now: rows in the published format, and what is left out and why.

Only confirmed work that was approved, on images that were not taken down; never a simulated answer
outside a rehearsal. Source of the format: the published corpus and leaderboard files.
"""

from collections import Counter
from collections.abc import Iterator
from dataclasses import dataclass, field
from typing import Any

from django.conf import settings

from curation.models import ComparisonRound, ComparisonSet, DatasetVersion, Part
from curation.selectors.rounds import newest_judged_round
from curation.versions.splits import split_of
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


@dataclass(slots=True)
class Plan:
    """All that a version would hold, with counts of what is left out by reason."""

    images: list[PlannedImage] = field(default_factory=list)
    rows: list[PlannedRow] = field(default_factory=list)
    exclusions: Counter[str] = field(default_factory=Counter)
    comparison_round: ComparisonRound | None = None

    def observations(self) -> Iterator[PlannedRow]:
        """Yield the pairs."""
        return (row for row in self.rows if row.part is Part.OBSERVATION)

    def provenance(self) -> dict[str, Any]:
        """Return by which encoders and options the comparison sets were chosen; empty without sets."""
        found = self.comparison_round
        if found is None:
            return {}
        return {"comparison_round": {"id": found.pk, "options": found.options, **found.provenance}}


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
    """Add the newest round that is judged completely; a set that lost a pair is left out whole."""
    found = newest_judged_round(project)
    if found is None or found.batch is None:
        return
    plan.comparison_round = found
    known = {row.instance_id: row.row for row in plan.observations()}
    judgments = likert_judgments(batch=found.batch, statuses=APPROVED)
    hashes = {
        worker.pk: worker_hash(worker)
        for worker in Worker.objects.filter(pk__in={pk for s in judgments.values() for pk in s.workers})
    }
    for item in _judged_sets(found, judgments):
        gold = item.observation.instance_id
        if not {gold, *item.chosen} <= known.keys():
            plan.exclusions["comparison_set_lost_a_pair"] += 1
            continue
        judged = judgments[str(item.pk)]
        plan.rows.append(_comparison_row(item, judged, known, [hashes[pk] for pk in judged.workers]))


def _judged_sets(found: ComparisonRound, judgments: dict[str, SetJudgments]) -> list[ComparisonSet]:
    sets = found.sets.select_related("observation__image").order_by("rank")
    return [item for item in sets if str(item.pk) in judgments]


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
