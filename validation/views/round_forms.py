"""What people type to start a qualification or a training round, checked before a service sees it."""

from collections.abc import Sequence
from typing import Any

from django import forms

from hits import registry
from hits.domain.workers.countries import parse_codes
from hits.forms import MoneyField, PageForm, typed_cost_cents
from hits.models import Image
from hits.services.launching.terms import LaunchTerms
from validation.domain.qualification.outcome import PassRule
from validation.selectors.rounds import qualifying_kind, training_kind
from validation.services.rounds import IMAGES_PER_SET, PAIRS_PER_SUBMISSION, Admission, ExamQuestion

MAX_ASSIGNMENTS = 5000
MAX_QUESTIONS = 6  # as many as the small editor has rows
MAX_CHOICES = 6
EXAMPLE_COUNTRIES = ("US", "CA", "GB", "AU")


class CountriesField(forms.CharField):
    """Countries by code or name, with commas between them; nothing means everywhere."""

    def __init__(self, **kwargs: Any) -> None:
        paper = ", ".join(EXAMPLE_COUNTRIES)
        help_text = (
            f"Codes or names, with commas between them, such as {paper} as in the paper. Empty means all."
        )
        super().__init__(max_length=2000, required=False, label="Countries", help_text=help_text, **kwargs)

    def clean(self, value: Any) -> tuple[str, ...]:
        """Return the codes, each once, in their order."""
        try:
            return parse_codes(super().clean(value))
        except ValueError as error:
            raise forms.ValidationError(f"{error}.") from error


class PhotosField(forms.MultipleChoiceField):
    """Photos of the project, ticked."""

    def __init__(self, images: Sequence[Image], **kwargs: Any) -> None:
        choices = [(str(image.pk), image.name) for image in images]
        super().__init__(choices=choices, required=False, widget=forms.CheckboxSelectMultiple, **kwargs)


class RoundForm(PageForm):
    """What both kinds of rounds ask for."""

    name = forms.CharField(
        max_length=120,
        required=False,
        label="Name",
        help_text="Workers read it in the task’s description; empty gives a plain one.",
    )
    reward = MoneyField(min_cents=1, label="Reward", help_text="US dollars for each submission.")
    countries = CountriesField()

    def kind_name(self) -> str:
        """Return the kind that the round asks."""
        raise NotImplementedError

    def __init__(self, images: Sequence[Image], *args: Any, **kwargs: Any) -> None:
        self.kind = registry.get_kind(self.kind_name())
        initial = {"reward": self.kind.reward_cents} | kwargs.pop("initial", {})
        super().__init__(*args, initial=initial, **kwargs)
        self.images = images
        self.fields["photos"] = PhotosField(images, label="Photos")

    @property
    def terms(self) -> LaunchTerms:
        """What the round pays; the form has to be valid."""
        return LaunchTerms(
            reward_cents=self.cleaned_data["reward"], confirmed_cents=typed_cost_cents(self.data)
        )

    @property
    def photos(self) -> list[int]:
        """The ticked photos' ids in the order of the page."""
        ticked = set(self.cleaned_data["photos"])
        return [image.pk for image in self.images if str(image.pk) in ticked]


class QualificationForm(RoundForm):
    """A qualification round: photos in threes, places, pass rule, exam."""

    applicants = forms.IntegerField(
        min_value=1, max_value=MAX_ASSIGNMENTS, label="Applicants", help_text="Each of them may apply once."
    )
    needed = forms.IntegerField(
        min_value=1,
        max_value=PAIRS_PER_SUBMISSION,
        label="Reasonable pairs needed",
        help_text=f"Of {PAIRS_PER_SUBMISSION}; the paper asks for 8.",
    )
    graders = forms.ChoiceField(
        choices=[("1", "One person"), ("2", "Two people, each blind to the other")],
        label="Who grades each pair",
        help_text="Two show how far they agree.",
    )
    exam_needed = forms.IntegerField(
        min_value=0, max_value=MAX_QUESTIONS, label="Right answers needed", help_text="0 asks for none."
    )

    def kind_name(self) -> str:
        """Return the kind that the round asks."""
        return qualifying_kind()

    def __init__(self, images: Sequence[Image], *args: Any, **kwargs: Any) -> None:
        initial = {"applicants": 50, "needed": PassRule().needed, "graders": "1", "exam_needed": 0}
        super().__init__(images, *args, initial=initial, **kwargs)
        for number in range(1, MAX_QUESTIONS + 1):
            self._add_question(number)

    def _add_question(self, number: int) -> None:
        fields: dict[str, forms.Field] = {
            "text": forms.CharField(max_length=400, required=False, label="Question"),
            "choices": forms.CharField(
                max_length=1500,
                required=False,
                label="Choices, one a line",
                widget=forms.Textarea(attrs={"rows": 4}),
            ),
            "right": forms.IntegerField(
                min_value=1, max_value=MAX_CHOICES, required=False, label="Number of the right one"
            ),
        }
        for part, field in fields.items():
            field.widget.attrs["class"] = "input"
            self.fields[f"q{number}_{part}"] = field

    @property
    def questions(self) -> list[tuple[int, list[forms.BoundField], bool]]:
        """The exam editor's rows: number, fields, and whether the row stands open."""
        rows = [
            (number, [self[f"q{number}_{part}"] for part in ("text", "choices", "right")])
            for number in range(1, MAX_QUESTIONS + 1)
        ]
        return [(number, fields, number == 1 or _has_input(fields)) for number, fields in rows]

    @property
    def shows_exam(self) -> bool:
        """Whether the editor stands open: something was typed there."""
        return bool(self["exam_needed"].errors) or any(_has_input(fields) for _, fields, _ in self.questions)

    def clean(self) -> dict[str, Any]:
        """Check photos against sets of three and places, and each question by itself."""
        data = super().clean() or {}
        ticked = len(data.get("photos") or ())
        if ticked < IMAGES_PER_SET or ticked % IMAGES_PER_SET:
            self.add_error(
                "photos", f"Each applicant sees three photos: tick 3, 6, 9 …; {ticked} are ticked."
            )
        elif ticked // IMAGES_PER_SET > data.get("applicants", MAX_ASSIGNMENTS):
            self.add_error("photos", "There are more sets of three than applicants; tick fewer.")
        self.exam = [question for n in range(1, MAX_QUESTIONS + 1) if (question := self._question(n, data))]
        if data.get("exam_needed", 0) > len(self.exam):
            plural = "" if len(self.exam) == 1 else "s"
            self.add_error(
                "exam_needed", f"The exam has {len(self.exam)} question{plural}; use that or fewer."
            )
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
                f"q{number}_choices", f"Question {number}: give 2 to {MAX_CHOICES} choices, one a line."
            )
        if not right or right > len(choices):
            self.add_error(f"q{number}_right", f"Question {number}: say which choice is right, from 1.")
        return ExamQuestion(str(text or ""), choices, (right or 1) - 1)

    @property
    def admission(self) -> Admission:
        """The pass rule, the exam and the countries; the form has to be valid."""
        data = self.cleaned_data
        rule = PassRule(data["needed"], data["exam_needed"], int(data["graders"]))
        return Admission(rule, self.exam, data["countries"])

    @property
    def image_sets(self) -> list[list[int]]:
        """The ticked photos in threes, in the order of the page."""
        ids = self.photos
        return [ids[n : n + IMAGES_PER_SET] for n in range(0, len(ids), IMAGES_PER_SET)]


def _has_input(fields: Sequence[forms.BoundField]) -> bool:
    return any(field.value() or field.errors for field in fields)


class TrainingForm(RoundForm):
    """A training round: photos and places."""

    places = forms.IntegerField(
        min_value=1,
        max_value=MAX_ASSIGNMENTS,
        label="Places",
        help_text="A worker who trains twice takes two.",
    )

    def kind_name(self) -> str:
        """Return the kind that the round asks."""
        return training_kind()

    def __init__(self, images: Sequence[Image], *args: Any, places: int = 10, **kwargs: Any) -> None:
        super().__init__(images, *args, initial={"places": places}, **kwargs)

    def clean(self) -> dict[str, Any]:
        """Check photos against places."""
        data = super().clean() or {}
        ticked = len(data.get("photos") or ())
        if not ticked:
            self.add_error("photos", "Tick at least one photo.")
        elif ticked > data.get("places", MAX_ASSIGNMENTS):
            self.add_error("photos", "There are more photos than places; tick fewer.")
        return data
