"""The judging spec of matchings: one region for each inference, and the right one."""

from collections.abc import Iterator, Mapping
from typing import Any, ClassVar

from validation.domain.judging.round_material import RegionsToMatch
from validation.domain.judging.spec import (
    Dimension,
    ItemView,
    JudgedLabel,
    JudgingSpec,
    Label,
    Material,
    Scale,
)
from validation.kinds.localization_match.kind import KIND

MATCH = Dimension(
    name="match",
    title="Region",
    question="Which region does the inference belong to?",
    scale=Scale.NOMINAL,
    round_note="how often two people choose the same region",
)


class LocalizationMatchSpec(JudgingSpec):
    """Regions differ from image to image, so no items are accepted or rejected; units contain the right regions."""

    title: ClassVar[str] = "Localization"
    item_field: ClassVar[str] = "set"
    dimensions: ClassVar[tuple[Dimension, ...]] = (MATCH,)
    material: ClassVar[Material] = Material.REGION_SETS
    has_parts: ClassVar[bool] = True
    part_labels: ClassVar[tuple[str, str]] = ("Inference", "Inferences")
    has_truth: ClassVar[bool] = True
    truth_labels_text: ClassVar[tuple[str, str, str]] = ("Correct regions", "photo", "photos")
    can_be_gold: ClassVar[bool] = False
    order: ClassVar[int] = 30

    def build_unit(self, source: RegionsToMatch) -> dict[str, Any]:
        """Return the unit of one image's regions and inferences."""
        return {
            "set": source.id,
            "image": source.image_id,
            "regions": [{"id": key, "boxes": list(boxes)} for key, boxes in source.regions.items()],
            "inferences": [{"id": key, "text": text} for key, text in source.inferences.items()],
            "truth": dict(source.truth),
        }

    def item_view(self, unit: Mapping[str, Any]) -> ItemView:
        """Return the regions by number, and the inferences."""
        texts = {row["id"]: row["text"] for row in unit["inferences"]}
        numbers = {region["id"]: number for number, region in enumerate(unit["regions"], start=1)}
        return ItemView(unit["image"], self.kind.marks(unit, None), texts, numbers=numbers)

    def truth(self, unit: Mapping[str, Any]) -> Mapping[str, Label]:
        """Return each inference's own region."""
        truth: Mapping[str, Label] = unit["truth"]
        return truth

    def labels(self, answer: Mapping[str, Any]) -> Iterator[JudgedLabel]:
        """Yield the region of each inference."""
        for row in answer.get("matches", ()):
            yield JudgedLabel(MATCH.name, row["inference"], row["region"])

    def build_answer(self, labels: Mapping[tuple[str, str], Any]) -> dict[str, Any]:
        """Return the answer with these matches."""
        return {"matches": [{"inference": part, "region": label} for (_, part), label in labels.items()]}

    def allowed_labels(self, unit: Mapping[str, Any]) -> dict[str, list[Label]]:
        """Return all of the unit's regions for each inference."""
        regions: list[Label] = [region["id"] for region in unit["regions"]]
        return {inference["id"]: regions for inference in unit["inferences"]}

    def summary(self, figures: Mapping[str, Any]) -> str:
        """Return the human baseline (Hessel et al. 2022, §4.2)."""
        found = figures.get("baseline")
        if not found or found.get("accuracy") is None:
            return ""
        return (
            f"People find the right region for {found['accuracy']:.1f}% of the inferences, the mean over "
            f"{found['images']:,} photos."
        )


SPEC = LocalizationMatchSpec(KIND)
