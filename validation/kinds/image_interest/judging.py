"""The judging spec of image sets: boring, okay or interesting for each image."""

from collections.abc import Callable, Iterator, Mapping, Sequence
from typing import Any, ClassVar

from validation.domain.judging.spec import (
    Dimension,
    ItemView,
    JudgedLabel,
    JudgingSpec,
    Label,
    Material,
    Scale,
)
from validation.kinds.image_interest.kind import KIND, VERDICT_TEXTS

VERDICT = Dimension(
    name="verdict",
    title="Interesting",
    question="Could one ask good questions about the photo?",
    scale=Scale.ORDINAL,
    labels=tuple(VERDICT_TEXTS),
    label_texts={label: VERDICT_TEXTS[label] for label in VERDICT_TEXTS},
    favourable=frozenset({1}),
    share_heading=("Interesting photos", "Interesting to most judges"),
    round_note="mean verdict from −1 to 1, α ordinal",
    is_subjective=True,
)


class ImageInterestSpec(JudgingSpec):
    """An image is accepted if most judges find it interesting."""

    title: ClassVar[str] = "Interesting photos"
    item_field: ClassVar[str] = "set"
    dimensions: ClassVar[tuple[Dimension, ...]] = (VERDICT,)
    material: ClassVar[Material] = Material.IMAGES
    has_parts: ClassVar[bool] = True
    part_labels: ClassVar[tuple[str, str]] = ("Photo", "Photos")
    example_part: ClassVar[str] = "1"
    item_label: ClassVar[str] = "Set"
    order: ClassVar[int] = 60

    def item_view(self, unit: Mapping[str, Any]) -> ItemView:
        """Return the images, each with its number in the set."""
        texts = {str(image): f"Photo {number}" for number, image in enumerate(unit["images"], start=1)}
        return ItemView(images=tuple(unit["images"]), texts=texts)

    def labels(self, answer: Mapping[str, Any]) -> Iterator[JudgedLabel]:
        """Yield the verdict on each image."""
        for row in answer.get("verdicts", ()):
            yield JudgedLabel(VERDICT.name, str(row["image"]), row["verdict"])

    def build_answer(self, labels: Mapping[tuple[str, str], Any]) -> dict[str, Any]:
        """Return the answer with these verdicts."""
        return {"verdicts": [{"image": int(part), "verdict": label} for (_, part), label in labels.items()]}

    def allowed_labels(self, unit: Mapping[str, Any]) -> dict[str, list[Label]]:
        """Return the three verdicts for each image."""
        return {str(image): list(VERDICT.page_labels) for image in unit["images"]}

    def gold_adapter(
        self, units: Sequence[Mapping[str, Any]]
    ) -> Callable[[Mapping[str, Any]], dict[str, Any] | None]:
        """Accept gold sets with as many images as sets of the round: another number would stand out."""
        lengths = {len(unit["images"]) for unit in units}
        return lambda unit: dict(unit) if len(unit["images"]) in lengths else None

    def summary(self, figures: Mapping[str, Any]) -> str:
        """Return the mean verdict."""
        row = figures["dimensions"].get(VERDICT.name, {})
        if not row.get("ratings"):
            return ""
        return f"The {row['ratings']:,} verdicts average {row['mean']:.2f} on the scale from −1 to 1."


SPEC = ImageInterestSpec(KIND)
