"""The judging spec of explanations: valid or not, each by itself."""

from collections.abc import Iterator, Mapping
from typing import Any, ClassVar

from validation.domain.judging.round_material import ExplanationsToJudge
from validation.domain.judging.spec import (
    Dimension,
    ItemView,
    JudgedLabel,
    JudgingSpec,
    Label,
    Material,
    Scale,
)
from validation.kinds.explanation_selection.kind import KIND

YES, NO = "yes", "no"
VALID = Dimension(
    name="valid",
    title="Valid",
    question="Does the text tell what links the context to the right image?",
    scale=Scale.NOMINAL,
    labels=(NO, YES),
    page_order=(YES, NO),
    label_texts={NO: "not valid", YES: "valid"},
    favourable=frozenset({YES}),
    share_heading=("Valid explanations", "Valid to most judges"),
    round_note="share valid to most judges, α nominal",
)


class ExplanationSelectionSpec(JudgingSpec):
    """An explanation is accepted if most judges tick it; the paper counts one that anybody ticks."""

    title: ClassVar[str] = "Explanations of image triplets"
    item_field: ClassVar[str] = "item"
    dimensions: ClassVar[tuple[Dimension, ...]] = (VALID,)
    material: ClassVar[Material] = Material.EXPLANATIONS
    has_parts: ClassVar[bool] = True
    part_labels: ClassVar[tuple[str, str]] = ("Explanation", "Explanations")
    item_label: ClassVar[str] = "Triplet"
    order: ClassVar[int] = 80

    def build_unit(self, source: ExplanationsToJudge) -> dict[str, Any]:
        """Return the unit of one page of explanations."""
        return {
            "item": source.id,
            "triplet": source.triplet_id,
            "images": dict(source.images),
            "right": source.right,
            "explanations": [{"id": row.id, "text": row.text} for row in source.explanations],
            "decoys": list(source.decoys),
            "scene": source.scene_id,
            "decoy_triplet": source.decoy_triplet_id,
            "decoy_scene": source.decoy_scene_id,
        }

    def item_view(self, unit: Mapping[str, Any]) -> ItemView:
        """Return the images as listed, and the explanations."""
        texts = {row["id"]: row["text"] for row in unit["explanations"]}
        return ItemView(images=tuple(self.kind.image_ids(unit)), texts=texts)

    def labels(self, answer: Mapping[str, Any]) -> Iterator[JudgedLabel]:
        """Yield a label for each explanation, ticked or not."""
        for name, label in (("valid", YES), ("not_valid", NO)):
            for key in answer.get(name, ()):
                yield JudgedLabel(VALID.name, key, label)

    def build_answer(self, labels: Mapping[tuple[str, str], Any]) -> dict[str, Any]:
        """Return the answer with these labels."""
        ticked = [part for (_, part), label in labels.items() if label == YES]
        others = [part for (_, part), label in labels.items() if label != YES]
        return {"valid": ticked, "none": not ticked, "not_valid": others}

    def allowed_labels(self, unit: Mapping[str, Any]) -> dict[str, list[Label]]:
        """Return both labels for each explanation."""
        return {row["id"]: list(VALID.page_labels) for row in unit["explanations"]}

    def summary(self, figures: Mapping[str, Any]) -> str:
        """Return how many explanations most judges find valid."""
        share = figures["dimensions"].get(VALID.name, {}).get("share")
        if not share or share["percent"] is None:
            return ""
        return f"Most judges find {share['count']:,} of {share['of']:,} explanations valid ({share['percent']:.1f}%)."


SPEC = ExplanationSelectionSpec(KIND)
