"""The judging spec of multiple-choice questions: one of four responses, and the right one."""

from collections.abc import Iterator, Mapping
from typing import Any, ClassVar

from hits.domain.images.unit_objects import object_names
from hits.domain.tagged_text import display_text
from validation.domain.judging.round_material import QuestionToAnswer
from validation.domain.judging.spec import (
    Dimension,
    ItemView,
    JudgedLabel,
    JudgingSpec,
    Label,
    Material,
    Scale,
)
from validation.kinds.vcr_choice.kind import CHOICES, KIND

# Labels are indices into the unit's choices, whose order is random: none of them is more frequent by itself, so that
# agreement beyond chance has a meaning.
CHOICE = Dimension(
    name="choice",
    title="Choice",
    question="Which response is right?",
    scale=Scale.NOMINAL,
    labels=tuple(str(index) for index in range(CHOICES)),
    label_texts={str(index): f"choice {index + 1}" for index in range(CHOICES)},
    round_note="how often two people choose the same response",
)
SEVERAL = Dimension(
    name="several",
    title="Several are right",
    question="Is another response right, too?",
    scale=Scale.NOMINAL,
    labels=("no", "yes"),
    is_optional=True,
)


class VcrChoiceSpec(JudgingSpec):
    """Units contain the right response, so nothing is accepted or rejected; people's accuracy is reported."""

    title: ClassVar[str] = "Multiple-choice questions"
    item_field: ClassVar[str] = "item"
    dimensions: ClassVar[tuple[Dimension, ...]] = (CHOICE, SEVERAL)
    material: ClassVar[Material] = Material.QUESTIONS
    record_type: ClassVar[str | None] = "triplet"
    has_truth: ClassVar[bool] = True
    truth_labels_text: ClassVar[tuple[str, str, str]] = ("Right choices", "question", "questions")
    can_be_gold: ClassVar[bool] = False
    order: ClassVar[int] = 50

    def build_unit(self, source: QuestionToAnswer) -> dict[str, Any]:
        """Return the unit of one stage of a question."""
        return {
            "item": source.id,
            "triplet": source.record_id,
            "stage": source.stage,
            "image": source.image_id,
            "objects": [dict(found) for found in source.objects],
            "question": list(source.question),
            "answer": None if source.answer is None else list(source.answer),
            "choices": [{"text": list(row.text), "record": row.record_id} for row in source.choices],
            "label": source.label,
            "several_allowed": source.several_allowed,
        }

    def shown_records(self, unit: Mapping[str, Any]) -> list[str]:
        """Return the record of the question, and the records that the choices were written for."""
        return list(dict.fromkeys([unit["triplet"], *(row["record"] for row in unit["choices"])]))

    def item_view(self, unit: Mapping[str, Any]) -> ItemView:
        """Return the image with its numbered objects, the question and its choices."""
        names = object_names(unit["objects"])
        shown = [unit["question"], *([unit["answer"]] if unit["answer"] is not None else [])]
        texts = {"": " ".join(display_text(text, names) for text in shown)}
        for index, row in enumerate(unit["choices"]):
            right = ", right" if index == unit["label"] else ""
            texts[f"choice {index + 1}"] = f"Choice {index + 1}{right}: {display_text(row['text'], names)}"
        return ItemView(unit["image"], self.kind.marks(unit, None), texts)

    def truth(self, unit: Mapping[str, Any]) -> Mapping[str, Label]:
        """Return the right choice."""
        return {"": str(unit["label"])}

    def chance(self, truth: Mapping[str, Label]) -> float:
        """Return the chance of one of four."""
        return 1 / CHOICES

    def labels(self, answer: Mapping[str, Any]) -> Iterator[JudgedLabel]:
        """Yield the choice, and whether another one is right, where that was asked."""
        yield JudgedLabel(CHOICE.name, "", str(answer["choice"]))
        if answer.get("several") is not None:
            yield JudgedLabel(SEVERAL.name, "", "yes" if answer["several"] else "no")

    def build_answer(self, labels: Mapping[tuple[str, str], Any]) -> dict[str, Any]:
        """Return the answer with this choice."""
        answer: dict[str, Any] = {"choice": int(labels[CHOICE.name, ""])}
        several = labels.get((SEVERAL.name, ""))
        return answer if several is None else {**answer, "several": several == "yes"}

    def summary(self, figures: Mapping[str, Any]) -> str:
        """Return people's accuracy, each answer by itself; rounds report the majority of each question."""
        found = figures.get("baseline")
        if not found or found.get("accuracy") is None:
            return ""
        return (
            f"People choose the right response in {found['accuracy']:.1f}% of their answers, the mean over "
            f"{found['images']:,} questions; chance is {found['chance']:.0f}%."
        )


SPEC = VcrChoiceSpec(KIND)
