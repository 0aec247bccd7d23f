"""Read the images that can be matched, the matching rounds, and the human baseline of localization."""

from collections import defaultdict
from collections.abc import Iterable, Mapping, Sequence
from dataclasses import dataclass
from typing import Any

import numpy as np
from django.db.models import Count, Q

from hits.models import Batch, Project, Unit
from hits.observing.pairs import OBSERVATION
from hits.selectors import records as collected
from validation.domain.judging.ratings import JudgmentRow
from validation.domain.judging.spec import JudgingSpec, Label, Material
from validation.domain.reports.dimension_report import SEED
from validation.domain.reports.localization import (
    MAX_PAIRS,
    MIN_PAIRS,
    HumanBaseline,
    Matching,
    score_matchings,
)
from validation.registry import spec_for_material
from validation.selectors.ratings import counted_assignment_filter, read_judgments

BOOTSTRAP_STREAM = 102  # same stream as the report, so that the page shows the same interval


def matching_spec() -> JudgingSpec:
    """Return the spec of the kind that matches inferences to regions."""
    return spec_for_material(Material.REGION_SETS)


@dataclass(frozen=True, slots=True)
class MatchablePair:
    """One accepted pair: its inference, its boxes in image pixels, and its author's primary key."""

    instance_id: str
    inference: str
    boxes: Sequence[Mapping[str, int]]
    author: int


@dataclass(frozen=True, slots=True)
class MatchableImage:
    """An image (primary key) with enough pairs for matching, oldest pair first."""

    image: int
    pairs: tuple[MatchablePair, ...]


def matchable_images(project: Project, *, include_sent: bool = False) -> list[MatchableImage]:
    """Return the images with three or more distinguishable accepted pairs, by primary key; two queries.

    The ten oldest accepted pairs of an image count, from all authors. A pair whose inference or region repeats an
    earlier one of the image is left out, since a worker could not distinguish them. ``include_sent`` also returns
    images that were in a matching round before.
    """
    sent = set() if include_sent else image_ids_in_matching_rounds(project)
    by_image: dict[int, list[MatchablePair]] = defaultdict(list)
    seen_values: dict[int, set[Any]] = defaultdict(set)
    fields = ("instance_id", "fields__inference", "fields__boxes", "submission__attempt__worker_id")
    for image, *row in collected.approved_records(project, OBSERVATION).values_list("image_id", *fields):
        pair = MatchablePair(*row)
        values = {" ".join(pair.inference.casefold().split()), _box_set(pair.boxes)}
        if len(by_image[image]) < MAX_PAIRS and seen_values[image].isdisjoint(values):
            by_image[image].append(pair)
            seen_values[image] |= values
    return [
        MatchableImage(image, tuple(pairs))
        for image, pairs in sorted(by_image.items())
        if len(pairs) >= MIN_PAIRS and image not in sent
    ]


def _box_set(boxes: Iterable[Mapping[str, int]]) -> frozenset[tuple[int, ...]]:
    return frozenset((box["left"], box["top"], box["width"], box["height"]) for box in boxes)


def image_ids_in_matching_rounds(project: Project) -> set[int]:
    """Return the primary keys of the images in matching rounds; one query."""
    rows = Unit.objects.filter(batch__project=project, batch__kind=matching_spec().name)
    return set(rows.values_list("images", flat=True))


@dataclass(frozen=True, slots=True)
class MatchingRound:
    """A matching round: ``matchings`` confirmed answers of ``required``."""

    batch: Batch
    images: int
    matchings: int
    required: int
    selection: Mapping[str, Any]


def matching_rounds(project: Project) -> list[MatchingRound]:
    """Return the project's matching rounds, newest first; one query."""
    item_units = Q(units__quality_check=None)
    counted = item_units & counted_assignment_filter("units__hits__assignments__")
    rows = (
        Batch.objects.filter(project=project, kind=matching_spec().name)
        .select_related("judging_round")
        .annotate(
            images=Count("units", filter=item_units, distinct=True),
            matchings=Count("units__hits__assignments", filter=counted, distinct=True),
        )
        .order_by("-pk")
    )
    return [
        MatchingRound(
            batch=row,
            images=row.images,
            matchings=row.matchings,
            required=row.images * row.redundancy,
            selection=row.judging_round.selection if hasattr(row, "judging_round") else {},
        )
        for row in rows
    ]


def answer_keys(project: Project, spec: JudgingSpec) -> dict[str, Mapping[str, Label]]:
    """Return the answer keys of the project's items on images that were not taken down; one query.

    Item -> {part: label}, such as set id -> {inference id: region id}. Empty for kinds without an answer key.
    """
    if not spec.has_truth:
        return {}
    rows = Unit.objects.filter(batch__project=project, batch__kind=spec.name, quality_check=None)
    rows = rows.exclude(images__taken_down_at__isnull=False)
    units = rows.order_by("-pk").values_list("payload", flat=True)
    return {spec.item_id(unit): spec.truth(unit) for unit in units}


def bootstrap_rng() -> np.random.Generator:
    """Return the seeded generator of the bootstrap: the same answers always give the same interval."""
    return np.random.default_rng([SEED, BOOTSTRAP_STREAM])


def load_human_baseline(project: Project) -> tuple[list[JudgmentRow], HumanBaseline]:
    """Return the confirmed matchings of a project in the order of submission, and their score; two queries."""
    rows = list(read_judgments(project=project, kind=matching_spec().name))
    spec = matching_spec()
    answers = [Matching(row.item, row.rater, spec.truth_labels(row.answer)) for row in rows]
    return rows, score_matchings(answers, answer_keys(project, spec), chance=spec.chance, rng=bootstrap_rng())


@dataclass(frozen=True, slots=True)
class WrongChoice:
    """A rater's wrong choice for an inference: the region's letter and colour, and the assignment."""

    rater: str
    worker: int | None
    assignment: int | None
    letter: str
    colour: int


@dataclass(frozen=True, slots=True)
class InferenceRow:
    """An inference with its own region, the number of correct answers, and the wrong choices."""

    text: str
    letter: str
    colour: int
    correct: int
    wrong_choices: tuple[WrongChoice, ...]


def inference_rows(payload: Mapping[str, Any], rows: Iterable[JudgmentRow]) -> list[InferenceRow]:
    """Return the inferences of a set in the order of their regions' letters; A is the unit's first region."""
    region_indexes = {region["id"]: index for index, region in enumerate(payload["regions"])}
    texts = {row["id"]: row["text"] for row in payload["inferences"]}
    spec = matching_spec()
    answers = [(row, Matching(row.item, row.rater, spec.truth_labels(row.answer))) for row in rows]
    inference_list = []
    for inference, region in sorted(payload["truth"].items(), key=lambda pair: region_indexes[pair[1]]):
        wrong = tuple(
            WrongChoice(
                f"W-{row.worker}" if row.worker is not None else row.rater,
                row.worker,
                row.assignment,
                *_mark_or_dash(region_indexes, answer.chosen_labels[inference]),
            )
            for row, answer in answers
            if answer.chosen_labels.get(inference, region) != region
        )
        right = sum(answer.chosen_labels.get(inference) == region for _, answer in answers)
        inference_list.append(
            InferenceRow(texts[inference], *region_mark(region_indexes[region]), right, wrong)
        )
    return inference_list


def _mark_or_dash(region_indexes: Mapping[str, int], region: Label) -> tuple[str, int]:
    """Return a region's letter and colour; a dash for a region of an imported file that the unit does not have."""
    return region_mark(region_indexes[str(region)]) if region in region_indexes else ("–", 0)


def region_mark(index: int) -> tuple[str, int]:
    """Return the letter and the observation colour (1 to 5) of a region by its index in the unit."""
    return chr(ord("A") + index), index % 5 + 1


def units_by_set(project: Project, sets: Iterable[str]) -> dict[str, Unit]:
    """Return one unit of each set with its image prefetched; two queries."""
    rows = Unit.objects.filter(batch__project=project, batch__kind=matching_spec().name, quality_check=None)
    rows = rows.filter(payload__set__in=list(sets)).prefetch_related("images")
    return {unit.payload["set"]: unit for unit in rows}
