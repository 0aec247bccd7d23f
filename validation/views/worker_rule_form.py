"""A standing rule as people type it."""

from typing import Any

from django import forms

from hits.domain.money.usd import format_usd, parse_usd
from hits.forms import PageForm
from validation.domain.qualification.worker_rules import RuleSettings
from validation.domain.qualification.worker_status import Measure, WorkerStatus
from validation.models import WorkerRule

MEASURE_LABELS = {
    Measure.ACCEPTABLE_SHARE: "Validated pairs that most judges find reasonable",
    Measure.BOXES_SHARE: "Validated pairs whose boxes most judges find appropriate",
    Measure.APPROVED_SHARE: "Decided submissions that were approved",
    Measure.CENTS_PER_HOUR: "Median pay per hour of active time (too high means rushed)",
    Measure.GOLD_SHARE: "Gold units answered as expected",
    Measure.ATTENTION_SHARE: "Attention checks answered as expected",
    Measure.REPEAT_SHARE: "Answers to repeated units that are the same both times",
    Measure.PACE_SHARE: "Judgments that took long enough, by everybody’s times",
    Measure.VARIED_SHARE: "Judgments outside long runs of one answer",
    Measure.ORIGINAL_SHARE: "Written pairs that copy no earlier one, nor nearly",
}
MAX_PERCENT = 100
MAX_ITEMS = 1000


def describe_limit(measure: str, below: int) -> str:
    """Return a rule's limit as people read it: “under 80%”, “over $40.00 an hour”."""
    if measure == Measure.CENTS_PER_HOUR:
        return f"over ${format_usd(below)} an hour"
    return f"under {below}%"


class RuleForm(PageForm):
    """A rule as data."""

    name = forms.CharField(max_length=120, help_text="For instance “Reasonable pairs, last 50”.")
    measure = forms.ChoiceField(choices=[(m.value, words) for m, words in MEASURE_LABELS.items()])
    below = forms.CharField(
        max_length=10,
        label="Limit",
        help_text="Shares: percent; who is under it is found. Pay: dollars an hour; who is over it is found.",
        widget=forms.TextInput(attrs={"inputmode": "decimal", "autocomplete": "off"}),
    )
    window = forms.IntegerField(
        min_value=1,
        max_value=MAX_ITEMS,
        initial=50,
        label="Over the last",
        help_text="The newest so many items.",
    )
    at_least = forms.IntegerField(
        min_value=1,
        max_value=MAX_ITEMS,
        initial=20,
        label="And at least",
        help_text="Fewer say nothing yet.",
    )
    proposes = forms.ChoiceField(
        choices=[
            (WorkerStatus.PAUSED.value, "Pause the worker"),
            (WorkerStatus.DEQUALIFIED.value, "De-qualify the worker"),
        ],
        help_text="A person accepts or dismisses each proposal.",
    )

    @classmethod
    def for_rule(cls, rule: WorkerRule | None, data: Any) -> "RuleForm":
        """Return the form with a stored rule's values."""
        if rule is None:
            return cls(data)
        below = format_usd(rule.below) if rule.measure == Measure.CENTS_PER_HOUR else str(rule.below)
        names = ("name", "measure", "window", "at_least", "proposes")
        return cls(data, initial={name: getattr(rule, name) for name in names} | {"below": below})

    def clean(self) -> dict[str, Any]:
        """Read the limit in the measure's own unit."""
        cleaned: dict[str, Any] = super().clean() or {}
        if "below" in cleaned and "measure" in cleaned:
            try:
                cleaned["below"] = _parse_limit(Measure(cleaned["measure"]), cleaned["below"])
            except ValueError as error:
                self.add_error("below", str(error))
        if cleaned.get("at_least", 0) > cleaned.get("window", MAX_ITEMS):
            self.add_error(
                "at_least", f"Use {cleaned['window']} or fewer: that is how far the rule looks back."
            )
        return cleaned

    @property
    def rule(self) -> RuleSettings:
        """The rule; the form has to be valid."""
        data = self.cleaned_data
        return RuleSettings(Measure(data["measure"]), data["below"], data["window"], data["at_least"])

    @property
    def proposed_status(self) -> WorkerStatus:
        """What it proposes; the form has to be valid."""
        return WorkerStatus(self.cleaned_data["proposes"])


def _parse_limit(measure: Measure, text: str) -> int:
    """Return percent or cents.

    Raises:
        ValueError: with what to type instead.
    """
    text = text.strip().removesuffix("%").removeprefix("$").strip()
    if measure is Measure.CENTS_PER_HOUR:
        try:
            cents = parse_usd(text)
        except ValueError:
            raise ValueError("Use dollars an hour, such as 40.00.") from None
        if cents < 1:
            raise ValueError("Use more than nothing: everybody would be found.")
        return cents
    if not text.isdecimal() or not 1 <= int(text) <= MAX_PERCENT:
        raise ValueError("Use whole percent from 1 to 100, such as 80.")
    return int(text)
