"""The judging spec of reviewed submissions: four questions about each triplet, advice, and an overall verdict."""

from collections.abc import Iterator, Mapping
from enum import StrEnum
from typing import Any, ClassVar

from hits.domain.answers.triplets import TRIPLET_TEXTS, display_triplet
from hits.domain.images.unit_objects import object_names
from validation.domain.judging.round_material import SubmissionToReview
from validation.domain.judging.spec import Dimension, ItemView, JudgedLabel, JudgingSpec, Material, Scale
from validation.kinds.work_review import scales
from validation.kinds.work_review.kind import KIND

REVIEWED_SHARE = "reviewed_share"


def _dimension(
    name: str, title: str, question: str, texts: Mapping[Any, str], favourable: set[StrEnum], **options: Any
) -> Dimension:
    return Dimension(
        name=name,
        title=title,
        question=question,
        scale=Scale.NOMINAL,
        labels=tuple(str(label) for label in texts),
        label_texts={str(label): text for label, text in texts.items()},
        favourable=frozenset(str(label) for label in favourable),
        **options,
    )


QUESTION = _dimension(
    "question",
    "Question",
    "Is the question a good one?",
    scales.QUESTION_TEXTS,
    {scales.QuestionVerdict.GOOD},
    share_heading=("Good questions", "Good to most reviewers"),
    round_note="share in favour, α nominal",
)
ANSWER = _dimension(
    "answer",
    "Answer",
    "Is the answer reasonable?",
    scales.ANSWER_TEXTS,
    {scales.AnswerVerdict.REASONABLE, scales.AnswerVerdict.UNLIKELY},
    share_heading=("Sound answers", "Reasonable or unlikely to most reviewers"),
    measure=REVIEWED_SHARE,
)
RATIONALE = _dimension(
    "rationale",
    "Reason",
    "Does the reason explain the answer?",
    scales.RATIONALE_TEXTS,
    {scales.RationaleVerdict.EXPLAINS},
    share_heading=("Clear reasons", "Explains the answer to most reviewers"),
)
TAGS = _dimension(
    "tags",
    "Objects",
    "Are the right objects mentioned?",
    scales.TAGS_TEXTS,
    {scales.TagsVerdict.RIGHT, scales.TagsVerdict.MISSING},
    share_heading=("No wrong objects", "Right or missing to most reviewers"),
    measure=REVIEWED_SHARE,
)
OVERALL = _dimension(
    "overall",
    "Overall",
    "What should become of the work?",
    scales.OVERALL_TEXTS,
    {scales.Overall.KEEP, scales.Overall.KEEP_ADVICE},
    share_heading=("Submissions to keep", "Keep, with or without advice, to most reviewers"),
    is_whole=True,
)
ADVICE = Dimension(
    name="advice", title="Advice", question="What should the author do?", scale=Scale.TEXT, is_whole=True
)
_PARTS = (QUESTION, ANSWER, RATIONALE, TAGS)


class WorkReviewSpec(JudgingSpec):
    """A triplet is accepted if most reviewers find it good, reasonable, explained and without a wrong object.

    Worker rules count a triplet for its author unless a reviewer calls its answer or an object wrong.
    """

    title: ClassVar[str] = "Reviewed submissions"
    item_field: ClassVar[str] = "submission"
    dimensions: ClassVar[tuple[Dimension, ...]] = (*_PARTS, OVERALL, ADVICE)
    material: ClassVar[Material] = Material.SUBMISSIONS
    record_type: ClassVar[str | None] = "triplet"
    has_parts: ClassVar[bool] = True
    part_labels: ClassVar[tuple[str, str]] = ("Question", "Questions")
    example_part: ClassVar[str] = "1"
    item_label: ClassVar[str] = "Submission"
    can_be_gold: ClassVar[bool] = False
    order: ClassVar[int] = 40

    def build_unit(self, source: SubmissionToReview) -> dict[str, Any]:
        """Return the unit of one submission: a copy of what its author saw and wrote."""
        shown = ("image", "objects", "objects_sha256", "captions")
        fields = (*TRIPLET_TEXTS, "likelihood")
        return {
            "submission": source.id,
            **{name: source.unit[name] for name in shown if name in source.unit},
            "triplets": [
                {"record": row.instance_id, **{name: row.fields[name] for name in fields}}
                for row in source.records
            ],
        }

    def shown_records(self, unit: Mapping[str, Any]) -> list[str]:
        """Return the records of the submission, whose author never reviews it."""
        return [row["record"] for row in unit["triplets"]]

    def item_view(self, unit: Mapping[str, Any]) -> ItemView:
        """Return the image with its numbered objects, and each triplet as one text."""
        names = object_names(unit["objects"])
        texts = {
            str(number): " · ".join([*display_triplet(row, names).values(), row["likelihood"]])
            for number, row in enumerate(unit["triplets"], start=1)
        }
        return ItemView(unit["image"], self.kind.marks(unit, None), texts)

    def labels(self, answer: Mapping[str, Any]) -> Iterator[JudgedLabel]:
        """Yield the four labels of each triplet, the overall verdict and the advice."""
        for row in answer.get("triplets", ()):
            for dimension in _PARTS:
                yield JudgedLabel(dimension.name, str(row["triplet"]), row[dimension.name])
        for dimension in (OVERALL, ADVICE):
            if answer.get(dimension.name):
                yield JudgedLabel(dimension.name, "", answer[dimension.name])

    def build_answer(self, labels: Mapping[tuple[str, str], Any]) -> dict[str, Any]:
        """Return the answer with these labels."""
        by_part: dict[str, dict[str, Any]] = {}
        whole: dict[str, Any] = {}
        for (name, part), label in labels.items():
            if part:
                by_part.setdefault(part, {"triplet": int(part)})[name] = label
            else:
                whole[name] = label
        return {"triplets": [by_part[part] for part in sorted(by_part)], "advice": "", **whole}


SPEC = WorkReviewSpec(KIND)
