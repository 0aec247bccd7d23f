"""Forms for starting qualification and training rounds."""

from collections.abc import Sequence
from typing import Any

from django import forms

from hits import registry
from hits.domain.workers.countries import parse_countries
from hits.forms import MoneyField, PageForm, typed_cost_cents
from hits.kind import HitKind
from hits.models import Image
from hits.services.launching.terms import LaunchTerms
from validation.domain.qualification.outcome import PassRule
from validation.services.rounds import (
    Admission,
    ExamQuestion,
    count_photos,
    default_pass_rule,
    exam_questions,
)

MAX_ASSIGNMENTS = 5000
MAX_QUESTIONS = 6  # rows of the question editor
MAX_CHOICES = 6
PUBLISHED_COUNTRIES = ("US", "CA", "GB", "AU")


class CountriesField(forms.CharField):
    """Countries by code or name, separated by commas; empty means all."""

    def __init__(self, **kwargs: Any) -> None:
        codes = ", ".join(PUBLISHED_COUNTRIES)
        help_text = f"Codes or names, separated by commas. Empty means all. Hessel et al. 2022 used {codes}."
        super().__init__(max_length=2000, required=False, label="Countries", help_text=help_text, **kwargs)

    def clean(self, value: Any) -> tuple[str, ...]:
        """Return the distinct codes in order."""
        try:
            return parse_countries(super().clean(value))
        except ValueError as error:
            raise forms.ValidationError(f"{error}.") from error


class PhotosField(forms.MultipleChoiceField):
    """Checkboxes for photos of the project."""

    def __init__(self, images: Sequence[Image], **kwargs: Any) -> None:
        choices = [(str(image.pk), image.name) for image in images]
        super().__init__(choices=choices, required=False, widget=forms.CheckboxSelectMultiple, **kwargs)


class RoundForm(PageForm):
    """The fields that both kinds of rounds share."""

    name = forms.CharField(
        max_length=120,
        required=False,
        label="Name",
        help_text="Shown to workers in the task’s description. Leave empty for a default name.",
    )
    reward = MoneyField(min_cents=1, label="Reward", help_text="US dollars per submission.")
    countries = CountriesField()

    def __init__(self, kind_name: str, images: Sequence[Image], *args: Any, **kwargs: Any) -> None:
        self.kind = registry.get_kind(kind_name)
        initial = {"reward": self.kind.reward_cents} | kwargs.pop("initial", {})
        super().__init__(*args, initial=initial, **kwargs)
        self.images = images
        self.set_size = 1  # photos that are shown together in one task
        self.fields["photos"] = PhotosField(images, label="Photos")

    @property
    def terms(self) -> LaunchTerms:
        """The launch terms; requires a valid form."""
        return LaunchTerms(
            reward_cents=self.cleaned_data["reward"], confirmed_cents=typed_cost_cents(self.data)
        )

    @property
    def photos(self) -> list[int]:
        """The ids of the ticked photos in the order of the page."""
        ticked = set(self.cleaned_data["photos"])
        return [image.pk for image in self.images if str(image.pk) in ticked]

    @property
    def image_sets(self) -> list[list[int]]:
        """The ticked photos in sets of ``set_size``, in the order of the page."""
        ids = self.photos
        return [ids[n : n + self.set_size] for n in range(0, len(ids), self.set_size)]


class QualificationRoundForm(RoundForm):
    """A qualification round: sets of photos, applicants, pass rule, exam."""

    assignments = forms.IntegerField(
        min_value=1,
        max_value=MAX_ASSIGNMENTS,
        label="Applicants",
        help_text="The number of workers who can apply. Each can apply once.",
    )
    graders = forms.ChoiceField(
        choices=[("1", "One grader"), ("2", "Two graders, blind to each other")],
        help_text="With two graders, the round’s page shows their agreement (Cohen’s κ).",
    )

    def __init__(self, kind_name: str, images: Sequence[Image], *args: Any, **kwargs: Any) -> None:
        kind = registry.get_kind(kind_name)
        self.built_in = len(kind.exam_rule.questions)
        rule = default_pass_rule(kind, self.built_in)
        initial = {
            "assignments": 50,
            "needed": rule.needed,
            "graders": "1",
            "exam_needed": rule.exam_needed,
        }
        super().__init__(kind_name, images, *args, initial=initial, **kwargs)
        self.set_size = kind.exam_rule.photos
        self._add_rule_fields(kind, rule)
        for number in range(1, MAX_QUESTIONS + 1):
            self._add_question(number)

    def _add_rule_fields(self, kind: HitKind, rule: PassRule) -> None:
        item, items = kind.record_word
        self.fields["graders"].label = f"Graders per {item}"
        self.fields["needed"] = forms.IntegerField(
            min_value=1,
            max_value=kind.exam_rule.items,
            label=f"{items.capitalize()} to pass",
            help_text=f"Reasonable {items} needed, of {kind.exam_rule.items}. Default {rule.needed}. {kind.paper}",
        )
        built_in = f" Without your own, the exam has {self.built_in} built-in ones." if self.built_in else ""
        self.fields["exam_needed"] = forms.IntegerField(
            min_value=0,
            max_value=max(MAX_QUESTIONS, self.built_in),
            label="Required correct answers",
            help_text=f"Of the exam questions. 0 requires none.{built_in}",
        )
        for name in ("needed", "exam_needed"):
            self.fields[name].widget.attrs["class"] = "input"

    def _add_question(self, number: int) -> None:
        fields: dict[str, forms.Field] = {
            "text": forms.CharField(max_length=400, required=False, label="Question"),
            "choices": forms.CharField(
                max_length=1500,
                required=False,
                label="Choices, one per line",
                widget=forms.Textarea(attrs={"rows": 4}),
            ),
            "right": forms.IntegerField(
                min_value=1, max_value=MAX_CHOICES, required=False, label="Number of the correct choice"
            ),
        }
        for part, field in fields.items():
            field.widget.attrs["class"] = "input"
            self.fields[f"q{number}_{part}"] = field

    @property
    def question_rows(self) -> list[tuple[int, list[forms.BoundField], bool]]:
        """The rows of the exam editor: number, fields, and whether the row is open."""
        rows = [
            (number, [self[f"q{number}_{part}"] for part in ("text", "choices", "right")])
            for number in range(1, MAX_QUESTIONS + 1)
        ]
        return [(number, fields, number == 1 or _has_input(fields)) for number, fields in rows]

    @property
    def is_exam_section_open(self) -> bool:
        """Whether to open the exam editor: it has a value or an error."""
        return bool(self["exam_needed"].errors) or any(
            _has_input(fields) for _, fields, _ in self.question_rows
        )

    def clean(self) -> dict[str, Any]:
        """Check that the photos form sets, at most one per applicant, and check each question."""
        data = super().clean() or {}
        ticked = len(data.get("photos") or ())
        size = self.set_size
        if ticked < size or ticked % size:
            numbers = f"{size}, {2 * size}, {3 * size} …"
            self.add_error(
                "photos", f"Each applicant sees {count_photos(size)}. Tick {numbers}; {ticked} are ticked."
            )
        elif ticked // size > data.get("assignments", MAX_ASSIGNMENTS):
            self.add_error("photos", "There are more photo sets than applicants. Tick fewer photos.")
        self.exam = [question for n in range(1, MAX_QUESTIONS + 1) if (question := self._question(n, data))]
        asked = len(self.exam) or self.built_in
        if data.get("exam_needed", 0) > asked:
            plural = "" if asked == 1 else "s"
            self.add_error("exam_needed", f"The exam has {asked} question{plural}. Use that number or fewer.")
        return data

    def _question(self, number: int, data: dict[str, Any]) -> ExamQuestion | None:
        text, right = data.get(f"q{number}_text"), data.get(f"q{number}_right")
        choices = tuple(
            line.strip() for line in (data.get(f"q{number}_choices") or "").splitlines() if line.strip()
        )
        if not (text or choices or right):
            return None
        if not text:
            self.add_error(f"q{number}_text", f"Question {number} has no text.")
        if not 1 < len(choices) <= MAX_CHOICES:
            self.add_error(
                f"q{number}_choices", f"Question {number}: give 2 to {MAX_CHOICES} choices, one per line."
            )
        if not right or right > len(choices):
            self.add_error(
                f"q{number}_right", f"Question {number}: enter the number of the correct choice, from 1."
            )
        return ExamQuestion(str(text or ""), choices, (right or 1) - 1)

    @property
    def question_count(self) -> int:
        """The number of questions of the exam; requires a valid form."""
        return len(exam_questions(self.kind, self.exam))

    @property
    def admission(self) -> Admission:
        """The pass rule, the exam and the countries; requires a valid form."""
        data = self.cleaned_data
        rule = PassRule(data["needed"], data["exam_needed"], int(data["graders"]))
        return Admission(rule, self.exam, data["countries"])


def _has_input(fields: Sequence[forms.BoundField]) -> bool:
    return any(field.value() or field.errors for field in fields)


class TrainingRoundForm(RoundForm):
    """A training round: photos and the number of assignments."""

    assignments = forms.IntegerField(
        min_value=1,
        max_value=MAX_ASSIGNMENTS,
        label="Assignments",
        help_text="In total. A worker who trains twice uses two assignments.",
    )

    def __init__(
        self, kind_name: str, images: Sequence[Image], *args: Any, assignments: int = 10, **kwargs: Any
    ) -> None:
        super().__init__(kind_name, images, *args, initial={"assignments": assignments}, **kwargs)

    def clean(self) -> dict[str, Any]:
        """Check the number of photos against the assignments."""
        data = super().clean() or {}
        ticked = len(data.get("photos") or ())
        if not ticked:
            self.add_error("photos", "Tick at least one photo.")
        elif ticked > data.get("assignments", MAX_ASSIGNMENTS):
            self.add_error("photos", "There are more photos than assignments. Tick fewer photos.")
        return data
