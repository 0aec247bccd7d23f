"""The judging spec of image triplets: a choice with its certainty and reason, and a likelihood of each hypothesis."""

from collections.abc import Callable, Iterator, Mapping, Sequence
from typing import Any, ClassVar

from hits.domain.images.image_triplets import HYPOTHESES, PREMISE, ROLES
from validation.domain.judging.quality_check_types import AttentionCheck, QualityCheckError, RoundUnit
from validation.domain.judging.round_material import TripletToJudge
from validation.domain.judging.spec import (
    Dimension,
    ItemView,
    JudgedLabel,
    JudgingSpec,
    Label,
    Material,
    Scale,
)
from validation.domain.judging.triplet_shapes import Shape
from validation.kinds.triplet_plausibility.kind import CERTAINTY_TEXTS, EQUAL, KIND
from validation.kinds.triplet_plausibility.shapes import ASKED, rated_hypotheses

HYPOTHESIS_TEXTS: dict[str | int, str] = {"h1": "hypothesis 1", "h2": "hypothesis 2"}
# Labels are hypotheses as listed, never places on the page: both orders give the same label.
CHOICE = Dimension(
    name="choice",
    title="Choice",
    question="Which hypothesis is more plausible?",
    scale=Scale.NOMINAL,
    labels=(*HYPOTHESES, EQUAL),
    label_texts={**HYPOTHESIS_TEXTS, EQUAL: "both equally"},
    is_whole=True,
    round_note="how often two people choose the same hypothesis",
)
CERTAINTY = Dimension(
    name="certainty",
    title="Certainty",
    question="How certain is the choice?",
    scale=Scale.ORDINAL,
    labels=tuple(CERTAINTY_TEXTS),
    page_order=tuple(CERTAINTY_TEXTS)[::-1],
    label_texts={label: CERTAINTY_TEXTS[label] for label in CERTAINTY_TEXTS},
    is_subjective=True,
    is_optional=True,
    is_whole=True,
)
WHY = Dimension(
    name="why",
    title="Why",
    question="Why is it plausible?",
    scale=Scale.TEXT,
    is_optional=True,
    is_whole=True,
)
LIKELIHOOD = Dimension(
    name="likelihood",
    title="Likelihood",
    question="How likely is the hypothesis beside the premise?",
    scale=Scale.ORDINAL,
    labels=(1, 2, 3, 4, 5),
    label_texts={1: "very unlikely", 2: "unlikely", 3: "possible", 4: "likely", 5: "very likely"},
    is_subjective=True,
    round_note="mean likelihood from 1 to 5, α ordinal",
)
_WHOLE = (CHOICE, CERTAINTY, WHY)


class TripletPlausibilitySpec(JudgingSpec):
    """Nothing is accepted or rejected: curation compares the majority with the triplet's gold."""

    title: ClassVar[str] = "Image triplets"
    item_field: ClassVar[str] = "item"
    dimensions: ClassVar[tuple[Dimension, ...]] = (*_WHOLE, LIKELIHOOD)
    material: ClassVar[Material] = Material.TRIPLETS
    has_parts: ClassVar[bool] = True
    part_labels: ClassVar[tuple[str, str]] = ("Hypothesis", "Hypotheses")
    example_part: ClassVar[str] = "h1"
    item_label: ClassVar[str] = "Triplet"
    has_attention_checks: ClassVar[bool] = True
    order: ClassVar[int] = 70

    def build_unit(self, source: TripletToJudge) -> dict[str, Any]:
        """Return the unit of one shape of a triplet."""
        return {
            "item": source.id,
            "triplet": source.triplet_id,
            "show": source.show,
            "images": {role: source.images.get(role) for role in ROLES},
            "texts": {role: source.texts.get(role) for role in ROLES},
            "cannot_tell": source.cannot_tell,
            "gold": source.gold,
            "scene": source.scene_id,
        }

    def item_view(self, unit: Mapping[str, Any]) -> ItemView:
        """Return the images as listed, or the descriptions."""
        beside = f" beside “{unit['texts'][PREMISE]}”" if unit["texts"].get(PREMISE) else ""
        texts: dict[str, str] = {}
        for role in HYPOTHESES:
            own = unit["texts"].get(role)
            if own or unit["images"].get(role) is not None:
                name = HYPOTHESIS_TEXTS[role].capitalize()
                texts[role] = f"{name}: “{own}”{beside}" if own else name
        return ItemView(images=tuple(self.kind.image_ids(unit)), texts=texts)

    def labels(self, answer: Mapping[str, Any]) -> Iterator[JudgedLabel]:
        """Yield choice, certainty and reason, then the likelihood of each rated hypothesis."""
        for dimension in _WHOLE:
            if answer.get(dimension.name):
                yield JudgedLabel(dimension.name, "", answer[dimension.name])
        ratings = answer.get("ratings") or {}
        for role in HYPOTHESES:
            if ratings.get(role) is not None:
                yield JudgedLabel(LIKELIHOOD.name, role, ratings[role])

    def build_answer(self, labels: Mapping[tuple[str, str], Any]) -> dict[str, Any]:
        """Return the answer with these labels; only what was asked is in it."""
        answer = {name: label for (name, part), label in labels.items() if not part}
        ratings = {part: label for (_, part), label in labels.items() if part}
        return {**answer, "ratings": ratings} if ratings else answer

    def allowed_labels(self, unit: Mapping[str, Any]) -> dict[str, list[Label]]:
        """Return the choices, and the likelihoods of each hypothesis; a gold item expects no certainty."""
        asked = ASKED[unit["show"]]
        choices = [*HYPOTHESES, *([EQUAL] if unit["cannot_tell"] else [])]
        found: dict[str, list[Label]] = {CHOICE.name: list(choices)} if CHOICE.name in asked else {}
        for role in rated_hypotheses(unit):
            found[self.label_name(LIKELIHOOD.name, role)] = list(LIKELIHOOD.labels)
        return found

    def gold_adapter(
        self, units: Sequence[Mapping[str, Any]]
    ) -> Callable[[Mapping[str, Any]], dict[str, Any] | None]:
        """Accept gold triplets of the round's shape; the round decides whether “both equally” is offered."""
        shapes, cannot_tell = {unit["show"] for unit in units}, units[0]["cannot_tell"]
        return lambda unit: {**unit, "cannot_tell": cannot_tell} if unit["show"] in shapes else None

    def build_attention_check(self, host: RoundUnit, others: Sequence[RoundUnit], rng: Any) -> AttentionCheck:
        """Return the host's triplet with a foreign image in place of the implausible hypothesis.

        The gold hypothesis stays, since otherwise no choice would be right.
        """
        unit = host.payload
        if unit["show"] != Shape.TRIPLET:
            raise QualityCheckError(f"attention checks: the shape {unit['show']} has none; use 0")
        if unit["gold"] is None:
            raise QualityCheckError(f"attention checks: triplet {unit['triplet']} has no gold; use 0")
        right, wrong = HYPOTHESES if unit["gold"] == 1 else reversed(HYPOTHESES)
        own = set(self.kind.image_ids(unit))
        foreign = [
            (donor, image)
            for donor in others
            for role in HYPOTHESES
            if (image := donor.payload["images"].get(role)) is not None and image not in own
        ]
        if not foreign:
            raise QualityCheckError("attention checks: no other triplet has an image of its own; use 0")
        donor, image = foreign[int(rng.integers(len(foreign)))]
        return AttentionCheck(
            {**unit, "images": {**unit["images"], wrong: image}},
            {CHOICE.name: [right]},
            donor=donor,
            authors=donor.authors,
        )

    def summary(self, figures: Mapping[str, Any]) -> str:
        """Return on how many triplets all judges agree."""
        found = figures["dimensions"].get(CHOICE.name, {}).get("unanimity")
        if not found or not found["of"]:
            return ""
        return (
            f"All judges choose the same hypothesis in {found['count']:,} of {found['of']:,} triplets "
            f"({found['percent']:.1f}%)."
        )


SPEC = TripletPlausibilitySpec(KIND)
