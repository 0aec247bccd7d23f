"""Triplets of an evaluation as pages show them: their images, gold, and what was answered in each order."""

from collections.abc import Iterable, Mapping
from dataclasses import dataclass

from curation.evaluation.nleye import PAIRS, TRIPLET
from curation.evaluation.nleye_key import AS_LISTED, SWAPPED
from curation.models import TripletEvaluation
from curation.selectors.triplets.evaluation_results import (
    VERSION_ROLES,
    Outcome,
    TripletResult,
    images_by_hash,
    triplet_keys,
)
from curation.selectors.triplets.evaluations import EvaluatedTriplet
from curation.views.triplets.evaluation_charts import group_label
from hits.domain.images.image_facts import ImageFacts
from hits.models import Image, Project
from hits.selectors.images.images import image_facts

OUTCOME_LABELS: Mapping[tuple[str, Outcome], str] = {
    (TRIPLET, Outcome.WRONG): "Wrong in both orders",
    (TRIPLET, Outcome.FLIPPED): "Right in one order",
    (TRIPLET, Outcome.RIGHT): "Right in both orders",
    (PAIRS, Outcome.WRONG): "Wrong order",
    (PAIRS, Outcome.EQUAL): "Equal or missing",
    (PAIRS, Outcome.RIGHT): "Right order",
}
OUTCOME_BADGES: Mapping[Outcome, tuple[str, str]] = {
    Outcome.WRONG: ("bad", "x"),
    Outcome.FLIPPED: ("warn", "sync"),
    Outcome.EQUAL: ("warn", "alert"),
    Outcome.RIGHT: ("ok", "ok"),
}
CHOICE_LABELS: Mapping[str, str] = {
    "first": "first image",
    "second": "second image",
    "equal": "both equally",
    "none": "none of them",
    "refused": "refused",
    "unparseable": "not read",
    "missing": "no answer",
}
PRESENTATION_LABELS: Mapping[str, str] = {
    AS_LISTED: "Hypothesis 1 first",
    SWAPPED: "Hypothesis 2 first",
    "h1": "Hypothesis 1",
    "h2": "Hypothesis 2",
}
ROLE_LABELS: Mapping[str, str] = {
    "premise": "Premise",
    "hypothesis1": "Hypothesis 1",
    "hypothesis2": "Hypothesis 2",
}


@dataclass(frozen=True, slots=True)
class ShownImage:
    """An image of a triplet: its role, its file unless it was taken down, its text, and whether it is gold."""

    role: str
    image: ImageFacts | None
    text: str
    is_gold: bool


@dataclass(frozen=True, slots=True)
class ShownResult:
    """A triplet in the list: its number in the version, group, outcome with its badge, images, and answers as text.

    key: of the project's own triplet, for its page; None if it is gone.
    """

    number: int
    key: int | None
    category: str
    outcome: str
    badge: str
    icon: str
    images: list[ShownImage]
    answers: list[tuple[str, str]]


def shown_results(evaluation: TripletEvaluation, results: Iterable[TripletResult]) -> list[ShownResult]:
    """Return the triplets of a page; a query for all images and one for all keys."""
    results = list(results)
    hashes = [sha256 for result in results for sha256 in result.triplet.row["images"].values()]
    images = images_by_hash(evaluation.project, hashes)
    keys = triplet_keys(evaluation.project, [result.triplet.id for result in results])
    found = []
    for result in results:
        badge, icon = OUTCOME_BADGES[result.outcome]
        found.append(
            ShownResult(
                result.triplet.number,
                keys.get(result.triplet.id),
                group_label(result.triplet.row["reasoning_category"]),
                OUTCOME_LABELS[evaluation.setup, result.outcome],
                badge,
                icon,
                _images(result.triplet, images),
                [
                    (PRESENTATION_LABELS[name], CHOICE_LABELS.get(text, text))
                    for name, text in result.answers.items()
                ],
            )
        )
    return found


def shown_images(project: Project, triplet: EvaluatedTriplet) -> list[ShownImage]:
    """Return the three images of one triplet."""
    return _images(triplet, images_by_hash(project, list(triplet.row["images"].values())))


def _images(triplet: EvaluatedTriplet, images: Mapping[str, Image]) -> list[ShownImage]:
    gold = f"hypothesis{triplet.row['gold']}"
    found = []
    for role in VERSION_ROLES:
        image = images.get(triplet.row["images"][role])
        is_there = image is not None and image.taken_down_at is None
        text = triplet.row[f"{role}_description"]
        facts = image_facts(image) if image is not None and is_there else None
        found.append(ShownImage(ROLE_LABELS[role], facts, text, role == gold))
    return found
