"""Forms of question sets: every option by its name and with its default, and the filters of the questions."""

from collections.abc import Iterable
from dataclasses import asdict
from typing import Any

from django import forms

from curation.matching.folds import MIN_FOLDS
from curation.models import Stage
from curation.services.questions import MAX_FOLDS, MIN_BUCKET_SIZE, QuestionSetOptions
from curation.views.fields import checkbox, choice_field, float_field, integer_field, text_field
from curation.views.questions.labels import BASIC_OPTIONS, FINE_TUNING_OPTIONS, OPTIONS, STAGE_LABELS
from hits.forms import PageForm

DEFAULTS = asdict(QuestionSetOptions())
MAX_BUCKET_SIZE = 20_000
ROUNDS = ("1", "2", "3")
_LIMITS: dict[str, tuple[int, int | None]] = {
    "folds": (MIN_FOLDS, MAX_FOLDS),
    "bucket_size": (MIN_BUCKET_SIZE, MAX_BUCKET_SIZE),
    "seed": (0, None),
    "shortlist": (1, 1000),
    "batch_size": (1, 1024),
    "epochs": (1, 100),
    "examples": (0, None),
}
_FLOATS: dict[str, tuple[float, float]] = {
    "lambda_answer": (0, 1000),
    "lambda_rationale": (0, 1000),
    "learning_rate": (1e-8, 0.1),
}


class QuestionSetForm(PageForm):
    """Name and options of a new set. ``used``: options of earlier sets, whose models commands may have named."""

    name = text_field("Name", "For example draft 1.", max_length=60)

    def __init__(
        self, *args: Any, used: Iterable[dict[str, Any]] = (), rehearsal: bool = False, **kwargs: Any
    ) -> None:
        super().__init__(*args, **kwargs)
        earlier = list(used)
        for name in OPTIONS:
            names = [str(options[name]) for options in earlier if name in options]
            self.fields[name] = _option_field(name, names)
            if not isinstance(self.fields[name].widget, forms.CheckboxInput):
                self.fields[name].widget.attrs["class"] = "input"
        if rehearsal:
            del self.fields["small"]  # a rehearsal's folds may always be small

    @property
    def basic_fields(self) -> list[forms.BoundField]:
        """The fields that are always shown, without the checkbox."""
        return [self[name] for name in ("name", *BASIC_OPTIONS) if name != "small"]

    @property
    def option_fields(self) -> list[forms.BoundField]:
        """The collapsed fields."""
        return [self[name] for name in OPTIONS if name not in {*BASIC_OPTIONS, *FINE_TUNING_OPTIONS}]

    @property
    def fine_tuning_fields(self) -> list[forms.BoundField]:
        """The collapsed fields of models that score pairs."""
        return [self[name] for name in FINE_TUNING_OPTIONS]

    @property
    def shows_options(self) -> bool:
        """Whether a collapsed field was changed or has an error."""
        changed = {*self.errors, *self.changed_data}
        return self.is_bound and not changed.isdisjoint(set(OPTIONS) - set(BASIC_OPTIONS))

    @property
    def options(self) -> QuestionSetOptions:
        """Return the options, with defaults for empty fields; the form must be valid."""
        given = {
            name: value
            for name, value in self.cleaned_data.items()
            if name in DEFAULTS and value not in (None, "")
        }
        return QuestionSetOptions(**given)


def _option_field(name: str, earlier: Iterable[str]) -> forms.Field:
    """Return an option's field; an empty value means the default."""
    rule, default = OPTIONS[name], DEFAULTS[name]
    words: dict[str, Any] = {"label": rule.label, "help_text": rule.help_text}
    if name == "small":
        return checkbox(rule.label, rule.help_text)
    if name == "share":
        return float_field(low=0, high=1, required=False, **words)
    if rule.choices:
        known = {str(value): label for value, label in rule.choices.items()}
        if name in {"relevance", "similarity"}:
            known |= {value: value for value in sorted(earlier) if value not in known}
        choices = [
            (value, f"{label} (default)" if value == str(default) else label)
            for value, label in known.items()
        ]
        return choice_field(choices=choices, initial=str(default), required=False, **words)
    if name in _FLOATS:
        low, high = _FLOATS[name]
        return float_field(low=low, high=high, initial=default, required=False, **words)
    lowest, highest = _LIMITS[name]
    return integer_field(low=lowest, high=highest, initial=default, required=False, **words)


class QuestionFilterForm(PageForm):
    """Filters of a set's questions; invalid values are ignored."""

    q = text_field("Containing", required=False, max_length=200)
    stage = choice_field("Stage", list(STAGE_LABELS.items()), required=False)
    fold = choice_field("Fold", required=False)
    round = choice_field(
        "Wrong choice", [("", "All"), *((number, f"Round {number}") for number in ROUNDS)], required=False
    )

    def __init__(self, folds: Iterable[str], *args: Any, **kwargs: Any) -> None:
        super().__init__(*args, auto_id="questions_%s", **kwargs)
        self.fields["q"].help_text = "Words, or a published id such as val-17."
        self.fields["fold"].choices = [("", "All"), *((name, name) for name in folds)]  # type: ignore[attr-defined]
        self.is_valid()

    @property
    def chosen_stage(self) -> str:
        """The stage whose questions are listed."""
        return self.cleaned_data.get("stage") or Stage.ANSWER.value

    @property
    def chosen_fold(self) -> str:
        """The fold, or an empty text for all."""
        return self.cleaned_data.get("fold") or ""

    @property
    def text(self) -> str:
        """What the texts have to contain."""
        return (self.cleaned_data.get("q") or "").strip()

    @property
    def chosen_round(self) -> int | None:
        """The round whose wrong choice is listed, or None for all."""
        given = self.cleaned_data.get("round")
        return int(given) if given else None
