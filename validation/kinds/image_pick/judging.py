"""The judging spec of picked images: the best one or none, and three answers about it."""

from collections.abc import Iterator, Mapping
from typing import Any, ClassVar

from validation.domain.judging.round_material import CandidatesToPick
from validation.domain.judging.spec import Dimension, ItemView, JudgedLabel, JudgingSpec, Material, Scale
from validation.kinds.image_pick.kind import BROKEN, KIND, SAME, SHOWS_ALL

NONE = "none"
# Labels are ids of images as text, and "none": they differ from unit to unit.
BEST = Dimension(
    name="best",
    title="Best image",
    question="Which image shows the text best?",
    scale=Scale.NOMINAL,
    label_texts={NONE: "none of them"},
    unit_labels=("image", "images"),
    round_note="how often two people pick the same image",
)


def _about_best(name: str, title: str, question: str) -> Dimension:
    return Dimension(
        name=name,
        title=title,
        question=question,
        scale=Scale.NOMINAL,
        labels=("no", "yes"),
        page_order=("yes", "no"),
        is_optional=True,
    )


_ABOUT_BEST = (
    _about_best(SHOWS_ALL, "Shows all", "Does the best image show all of the text?"),
    _about_best(SAME, "Same story", "Are people and place the same as in the context?"),
    _about_best(BROKEN, "Broken", "Is something in the best image broken or unsafe?"),
)


class ImagePickSpec(JudgingSpec):
    """Nothing is accepted or rejected: a researcher, or the most frequent pick, chooses the image."""

    title: ClassVar[str] = "Picked images"
    item_field: ClassVar[str] = "item"
    dimensions: ClassVar[tuple[Dimension, ...]] = (BEST, *_ABOUT_BEST)
    material: ClassVar[Material] = Material.CANDIDATES
    item_label: ClassVar[str] = "Text"
    can_be_gold: ClassVar[bool] = False
    order: ClassVar[int] = 90

    def build_unit(self, source: CandidatesToPick) -> dict[str, Any]:
        """Return the unit of one text."""
        return {
            "item": source.id,
            "role": source.role,
            "text": source.text,
            "premise_image": source.premise_image,
            "candidates": list(source.candidates),
            "scene": source.scene_id,
        }

    def item_view(self, unit: Mapping[str, Any]) -> ItemView:
        """Return the images with their numbers on console pages, and the text."""
        numbers = {str(image): number for number, image in enumerate(self.kind.image_ids(unit), start=1)}
        return ItemView(images=tuple(self.kind.image_ids(unit)), texts={"": unit["text"]}, numbers=numbers)

    def labels(self, answer: Mapping[str, Any]) -> Iterator[JudgedLabel]:
        """Yield the picked image's id or "none", and the answers about it."""
        if answer.get("none"):
            yield JudgedLabel(BEST.name, "", NONE)
        elif answer.get("best") is not None:
            yield JudgedLabel(BEST.name, "", str(answer["best"]))
        for dimension in _ABOUT_BEST:
            if answer.get(dimension.name):
                yield JudgedLabel(dimension.name, "", answer[dimension.name])

    def build_answer(self, labels: Mapping[tuple[str, str], Any]) -> dict[str, Any]:
        """Return the answer with these labels."""
        best = labels.get((BEST.name, ""))
        is_none = best == NONE
        answers = {dimension.name: labels.get((dimension.name, "")) for dimension in _ABOUT_BEST}
        return {"best": None if is_none or best is None else int(best), "none": is_none, **answers}


SPEC = ImagePickSpec(KIND)
