"""How verdicts are read: nominal, multiple and text."""

from collections.abc import Mapping, Sequence
from typing import Any, ClassVar

from tests.kinds.photo_verdict.kind import KIND
from validation.domain.judging.quality_check_types import AttentionCheck, RoundUnit
from validation.domain.judging.spec import Dimension, ItemView, JudgingSpec, Scale


class PhotoVerdictSpec(JudgingSpec):
    """A text is accepted where most judges say that it is about people or things."""

    title: ClassVar[str] = "Texts about photos"
    item_field: ClassVar[str] = "item"
    has_attention_checks: ClassVar[bool] = True
    dimensions: ClassVar[tuple[Dimension, ...]] = (
        Dimension(
            name="about",
            title="Subject",
            question="What is the text about?",
            scale=Scale.NOMINAL,
            labels=("people", "things", "place"),
            favourable=frozenset({"people", "things"}),
            share_heading=("About people or things", "To most judges"),
        ),
        Dimension(
            name="faults",
            title="Faults",
            question="What is wrong with it?",
            scale=Scale.MULTIPLE,
            labels=("vague", "wrong", "rude"),
        ),
        Dimension(name="why", title="Reason", question="Why?", scale=Scale.TEXT),
    )

    def item_view(self, unit: Mapping[str, Any]) -> ItemView:
        """Return photo and text."""
        return ItemView(unit["image"], texts={"": unit["text"]})

    def build_attention_check(self, host: RoundUnit, others: Sequence[RoundUnit], rng: Any) -> AttentionCheck:
        """Return another photo's text on this photo: nobody who looks calls it about people."""
        return AttentionCheck(
            {**host.payload, "text": others[0].payload["text"]},
            {"about": ["things", "place"]},
            donor=others[0],
            authors=others[0].authors,
        )


SPEC = PhotoVerdictSpec(KIND)
