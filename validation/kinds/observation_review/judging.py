"""The judging spec of observation pairs: three questions, and the labels that count as positive."""

from collections.abc import Mapping, Sequence
from typing import Any, ClassVar

from validation.domain.judging.quality_check_types import AttentionCheck, RoundUnit, content_words
from validation.domain.judging.round_material import RecordToJudge
from validation.domain.judging.spec import Dimension, ItemView, JudgingSpec, Material, Scale
from validation.kinds.observation_review import scales
from validation.kinds.observation_review.kind import KIND
from validation.kinds.observation_review.scales import LABEL_TEXTS, POSITIVE, SCALES


def _dimension(
    scale_name: scales.Dimension, title: str, question: str, share_heading: tuple[str, str], **options: Any
) -> Dimension:
    # Hessel et al. 2022 report one share per dimension, but not which labels are positive; POSITIVE is our choice.
    best_first = tuple(str(label) for label in SCALES[scale_name])
    return Dimension(
        name=scale_name.value,
        title=title,
        question=question,
        scale=Scale.ORDINAL,
        labels=tuple(reversed(best_first)),
        page_order=best_first,
        label_texts={str(label): text for label, text in LABEL_TEXTS[scale_name].items()},
        favourable=frozenset(str(label) for label in POSITIVE[scale_name]),
        share_heading=share_heading,
        **options,
    )


REASONABLE = _dimension(
    scales.Dimension.REASONABLE,
    "Acceptable",
    "Is the inference reasonable?",
    ("Acceptable pairs", "Highly or relatively reasonable to most judges"),
    round_note="share in favour, α ordinal",
    measure="acceptable_share",
)
BOXES = _dimension(
    scales.Dimension.BOXES,
    "Box placement",
    "Do the boxes show what the clue names?",
    ("Accurate boxes", "Appropriate or mostly appropriate to most judges"),
    measure="boxes_share",
)
INTERESTING = _dimension(
    scales.Dimension.INTERESTING,
    "Interesting",
    "Is it interesting?",
    ("Interesting inferences", "Interesting or very interesting to most judges"),
    is_subjective=True,
)


class ObservationReviewSpec(JudgingSpec):
    """A pair is accepted if most judges find it reasonable, its boxes appropriate, and its inference interesting."""

    title: ClassVar[str] = "Observation pairs"
    item_field: ClassVar[str] = "observation"
    dimensions: ClassVar[tuple[Dimension, ...]] = (REASONABLE, BOXES, INTERESTING)
    page_order: ClassVar[tuple[str, ...]] = (BOXES.name, REASONABLE.name, INTERESTING.name)
    material: ClassVar[Material] = Material.RECORDS
    record_type: ClassVar[str | None] = "observation"
    has_attention_checks: ClassVar[bool] = True
    order: ClassVar[int] = 10

    def build_unit(self, source: RecordToJudge) -> dict[str, Any]:
        """Return the unit of one pair."""
        return {
            "image": source.images[0],
            "observation": source.instance_id,
            "obs_index": source.index,
            "boxes": source.fields["boxes"],
            "clue": source.fields["clue"],
            "inference": source.fields["inference"],
            "confidence": source.fields["confidence"],
        }

    def item_view(self, unit: Mapping[str, Any]) -> ItemView:
        """Return the pair with its boxes under its own index."""
        return ItemView(unit["image"], self.kind.marks(unit, None), {"": unit["inference"]}, unit["clue"])

    def item_view_of_record(
        self, images: Sequence[int], index: int, fields: Mapping[str, Any]
    ) -> ItemView | None:
        """Return the pair of an imported judgment."""
        group = {"index": index, "boxes": fields["boxes"], "label": "Region"}
        return ItemView(images[0], [group], {"": fields["inference"]}, fields["clue"])

    def record_boxes(self, fields: Mapping[str, Any]) -> Sequence[Mapping[str, int]]:
        """Return the pair's boxes."""
        boxes: Sequence[Mapping[str, int]] = fields["boxes"]
        return boxes

    def build_attention_check(self, host: RoundUnit, others: Sequence[RoundUnit], rng: Any) -> AttentionCheck:
        """Return the host's photo and boxes with a clue and an inference from another photo.

        Two photos may show similar things, and an unfounded inference may still be possible. So the donor is the pair
        with the fewest words in common, and "mostly appropriate" and "relatively reasonable" are right too: only
        "appropriate" or "highly reasonable" fails the check.
        """
        host_words = content_words(host.payload["clue"], host.payload["inference"])
        donor = min(
            others,
            key=lambda unit: len(host_words & content_words(unit.payload["clue"], unit.payload["inference"])),
        )
        text = {name: donor.payload[name] for name in ("clue", "inference", "confidence")}
        return AttentionCheck(
            {**host.payload, **text},
            {"boxes": ["mostly", "entirely_off"], "reasonable": ["relatively", "un"]},
            donor=donor,
            authors=donor.authors,
        )

    def summary(self, figures: Mapping[str, Any]) -> str:
        """Return the shares in the wording of the published corpus (Hessel et al. 2022 §3)."""
        shares = {
            dimension.name: figures["dimensions"].get(dimension.name, {}).get("share")
            for dimension in self.dimensions
        }
        if any(share is None or share["percent"] is None for share in shares.values()):
            return ""
        percent = {name: f"{share['percent']:.1f}%" for name, share in shares.items()}
        return (
            f"{percent[REASONABLE.name]} of the observation pairs are acceptable with "
            f"{percent[BOXES.name]} accurate box placement; {percent[INTERESTING.name]} of the inferences "
            "are found to be interesting."
        )


SPEC = ObservationReviewSpec(KIND)
