"""The judging spec of written scenes: which hypothesis is more plausible, and three criteria of a good scene.

Units do not contain what the author calls more plausible, so that no page or file can give it away. Therefore no
attention check can be made from a round's own units: to replace the implausible hypothesis by another scene's, one
would have to know which it is, and to replace either could leave two wrong ones. Gold items are scenes about which a
member of the project is sure. Repeats would show a worker the same scene twice, which ``is_single_attempt`` forbids:
launch rounds with a repeat share of 0.
"""

from collections.abc import Iterator, Mapping
from typing import Any, ClassVar

from validation.domain.judging.round_material import SceneToReview
from validation.domain.judging.spec import (
    Dimension,
    ItemView,
    JudgedLabel,
    JudgingSpec,
    Material,
    Scale,
)
from validation.kinds.scene_review.kind import KIND, PLAUSIBLE_TEXTS


def _criterion(name: str, title: str, question: str, favourable: str, share: str) -> Dimension:
    return Dimension(
        name=name,
        title=title,
        question=question,
        scale=Scale.NOMINAL,
        labels=("yes", "no"),
        favourable=frozenset({favourable}),
        share_heading=(share, f"“{favourable}” to most judges"),
    )


# Labels are the scene's own a and b, never positions: which is a was drawn, so that agreement beyond chance has a
# meaning.
PLAUSIBLE = Dimension(
    name="plausible",
    title="Plausible",
    question="Which hypothesis goes with the premise more plausibly?",
    scale=Scale.NOMINAL,
    labels=tuple(PLAUSIBLE_TEXTS),
    label_texts=PLAUSIBLE_TEXTS,
    round_note="how often two people choose the same hypothesis",
)
NEEDS_PREMISE = _criterion(
    "needs_premise", "Needs premise", "Is the premise needed to decide?", "yes", "Premise needed"
)
DRAWABLE = _criterion("drawable", "Drawable", "Can pictures show all of it?", "yes", "Drawable scenes")
SEEN = _criterion("seen", "Seen", "Have you seen this scene before?", "no", "New scenes")
LIKE = Dimension(
    name="like",
    title="Like",
    question="Which scene, film or test does it repeat?",
    scale=Scale.TEXT,
    is_optional=True,
)


class SceneReviewSpec(JudgingSpec):
    """A scene is good by a criterion if most judges favour it; which hypothesis is more plausible decides nothing."""

    title: ClassVar[str] = "Scenes"
    item_field: ClassVar[str] = "item"
    dimensions: ClassVar[tuple[Dimension, ...]] = (PLAUSIBLE, NEEDS_PREMISE, DRAWABLE, SEEN, LIKE)
    material: ClassVar[Material] = Material.SCENES
    item_label: ClassVar[str] = "Scene"
    order: ClassVar[int] = 70

    def build_unit(self, source: SceneToReview) -> dict[str, Any]:
        """Return the unit of one scene."""
        return {
            "item": source.id,
            "premise": source.premise,
            "a": source.a,
            "b": source.b,
            "scene": source.scene_id,
        }

    def shown_records(self, unit: Mapping[str, Any]) -> list[str]:
        """Return the item: in a file of units it may be the scene's record, whose author must not judge it."""
        return [self.item_id(unit)]

    def item_view(self, unit: Mapping[str, Any]) -> ItemView:
        """Return the three texts as one."""
        text = f"Premise: {unit['premise']} · Hypothesis a: {unit['a']} · Hypothesis b: {unit['b']}"
        return ItemView(texts={"": text})

    def labels(self, answer: Mapping[str, Any]) -> Iterator[JudgedLabel]:
        """Yield the labels of an answer; a scene that was not seen before has no text."""
        yield from (row for row in super().labels(answer) if row.dimension != LIKE.name or row.label)

    def summary(self, figures: Mapping[str, Any]) -> str:
        """Return the shares of scenes that most judges favour."""
        shares = [(NEEDS_PREMISE, "need their premise"), (DRAWABLE, "can be drawn"), (SEEN, "are new")]
        parts = []
        for dimension, text in shares:
            share = figures["dimensions"].get(dimension.name, {}).get("share")
            if share is None or share["percent"] is None:
                return ""
            parts.append(f"{share['percent']:.1f}% {text}")
        return f"Of the scenes, {parts[0]}, {parts[1]}, and {parts[2]} to most judges."


SPEC = SceneReviewSpec(KIND)
