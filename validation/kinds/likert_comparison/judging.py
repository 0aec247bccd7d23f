"""The judging spec of comparison sets: one rating from 1 to 3 for each candidate."""

from collections.abc import Callable, Iterator, Mapping, Sequence
from typing import Any, ClassVar

from validation.domain.judging.judgment_rows import ParsedJudgment
from validation.domain.judging.quality_check_types import (
    AttentionCheck,
    QualityCheckError,
    RoundUnit,
    content_words,
)
from validation.domain.judging.round_material import SetToJudge
from validation.domain.judging.spec import (
    Dimension,
    ItemView,
    JudgedLabel,
    JudgingSpec,
    Label,
    Material,
    Scale,
)
from validation.kinds.likert_comparison.answer_key import parse_answer_key
from validation.kinds.likert_comparison.kind import KIND
from validation.kinds.likert_comparison.ratings import Rating

MIN_CANDIDATES_FOR_TWO = 4  # an attention check of such a set gets two foreign candidates
RATING = Dimension(
    name="rating",
    title="Rating",
    question="How well does the inference fit the photo and the region?",
    scale=Scale.ORDINAL,
    labels=tuple(int(rating) for rating in Rating),
    label_texts={int(rating): rating.name.lower() for rating in Rating},
    favourable=frozenset({int(Rating.OKAY), int(Rating.GOOD)}),
    round_note="mean rating from 1 to 3, α ordinal",
)


class LikertComparisonSpec(JudgingSpec):
    """A candidate is accepted if most judges rate it okay or good."""

    title: ClassVar[str] = "Comparison sets"
    item_field: ClassVar[str] = "set"
    dimensions: ClassVar[tuple[Dimension, ...]] = (RATING,)
    material: ClassVar[Material] = Material.CANDIDATE_SETS
    record_type: ClassVar[str | None] = "observation"
    has_parts: ClassVar[bool] = True
    part_labels: ClassVar[tuple[str, str]] = ("Candidate", "Candidates")
    item_label: ClassVar[str] = "Set"
    has_attention_checks: ClassVar[bool] = True
    order: ClassVar[int] = 20

    def build_unit(self, source: SetToJudge) -> dict[str, Any]:
        """Return the unit of one comparison set."""
        return {
            "image": source.image_id,
            "boxes": list(source.boxes),
            "clue": source.clue,
            "candidates": [
                {"id": candidate.id, "inference": candidate.inference} for candidate in source.candidates
            ],
            "set": source.id,
            "reference": source.reference,
            "per_page": source.per_page,
        }

    def shown_records(self, unit: Mapping[str, Any]) -> list[str]:
        """Return the pairs whose inferences are the candidates."""
        return [candidate["id"] for candidate in unit["candidates"]]

    def item_view(self, unit: Mapping[str, Any]) -> ItemView:
        """Return the region with its candidates."""
        group = {"index": 1, "boxes": unit["boxes"], "label": "Region"}
        texts = {candidate["id"]: candidate["inference"] for candidate in unit["candidates"]}
        return ItemView(unit["image"], [group], texts, unit.get("clue"))

    def item_view_of_record(
        self, images: Sequence[int], index: int, fields: Mapping[str, Any]
    ) -> ItemView | None:
        """Return the region of an imported set: the set's id is that of the region's own pair."""
        group = {"index": index, "boxes": fields["boxes"], "label": "Region"}
        return ItemView(images[0], [group], {"": fields["inference"]}, fields["clue"])

    def labels(self, answer: Mapping[str, Any]) -> Iterator[JudgedLabel]:
        """Yield the rating of each candidate."""
        for row in answer.get("ratings", ()):
            yield JudgedLabel(RATING.name, row["candidate"], row["rating"])

    def build_answer(self, labels: Mapping[tuple[str, str], Any]) -> dict[str, Any]:
        """Return the answer with these ratings."""
        return {"ratings": [{"candidate": part, "rating": label} for (_, part), label in labels.items()]}

    def allowed_labels(self, unit: Mapping[str, Any]) -> dict[str, list[Label]]:
        """Return the three ratings for each candidate."""
        return {candidate["id"]: list(RATING.page_labels) for candidate in unit["candidates"]}

    def read_json(self, raw: Any, *, allow_simulated: bool = False) -> list[ParsedJudgment]:
        """Return the ratings in a leaderboard answer key."""
        return parse_answer_key(raw, RATING, allow_simulated=allow_simulated)

    def gold_adapter(
        self, units: Sequence[Mapping[str, Any]]
    ) -> Callable[[Mapping[str, Any]], dict[str, Any] | None]:
        """Adapt gold sets to the round's sets; a set without a clue or reference that they show cannot be used.

        A round's sets agree on whether they show the clue and the reference, on paging, and on their numbers of
        candidates: a gold unit that differs would stand out.
        """
        template, lengths = units[0], {len(unit["candidates"]) for unit in units}
        return lambda unit: _adapt_gold_set(unit, template) if len(unit["candidates"]) in lengths else None

    def build_attention_check(self, host: RoundUnit, others: Sequence[RoundUnit], rng: Any) -> AttentionCheck:
        """Return the host's set with one or two candidates from sets about other photos.

        A general statement may fit any photo a little. So a large enough set gets two foreign candidates, those with
        the fewest words in common with its own. Ratings of 1 and 2 are right; only a rating of 3 fails the check.
        """
        candidates = list(host.payload["candidates"])
        count = 2 if len(candidates) >= MIN_CANDIDATES_FOR_TWO else 1
        foreign = _foreign_candidates(candidates, others)[:count]
        if not foreign:
            raise QualityCheckError("attention checks: all sets of the round have the same statements; use 0")
        positions = rng.choice(len(candidates), len(foreign), replace=False)
        for position, (candidate, _) in zip(positions, foreign, strict=True):
            candidates[int(position)] = dict(candidate)
        return AttentionCheck(
            {**host.payload, "candidates": candidates},
            {candidate["id"]: [int(Rating.BAD), int(Rating.OKAY)] for candidate, _ in foreign},
            donor=foreign[0][1],
            authors=frozenset[int]().union(*(donor.authors for _, donor in foreign)),
        )

    def summary(self, figures: Mapping[str, Any]) -> str:
        """Return the mean rating, and how well people agree on the order of candidates."""
        row = figures["dimensions"].get(RATING.name, {})
        if not row.get("ratings"):
            return ""
        accuracy = (figures.get("pairwise") or {}).get("accuracy")
        agreement = (
            ""
            if accuracy is None
            else f"; people put {accuracy:.1f}% of the candidate pairs in the same order"
        )
        return (
            f"The {row['ratings']:,} ratings average {row['mean']:.2f} on the scale from 1 to 3{agreement}."
        )


def _adapt_gold_set(unit: Mapping[str, Any], template: Mapping[str, Any]) -> dict[str, Any] | None:
    result = dict(unit)
    for name in ("clue", "reference"):
        if name not in template:
            result.pop(name, None)
        elif template[name] is None:
            result[name] = None
        elif result.get(name) is None:
            return None
    result.pop("per_page", None)
    return result | ({"per_page": template["per_page"]} if "per_page" in template else {})


def _foreign_candidates(
    candidates: Sequence[Mapping[str, Any]], others: Sequence[RoundUnit]
) -> list[tuple[Mapping[str, Any], RoundUnit]]:
    """Return candidates of other sets with their units, ordered by the words in common, fewest first."""
    known = {candidate["id"] for candidate in candidates}
    own_words = content_words(*(candidate["inference"] for candidate in candidates))
    ranked: dict[str, tuple[int, Mapping[str, Any], RoundUnit]] = {}
    for donor in others:
        for candidate in donor.payload["candidates"]:
            if candidate["id"] not in known:
                common = len(own_words & content_words(candidate["inference"]))
                ranked.setdefault(candidate["id"], (common, candidate, donor))
    return [(candidate, donor) for _, candidate, donor in sorted(ranked.values(), key=lambda row: row[0])]


SPEC = LikertComparisonSpec(KIND)
