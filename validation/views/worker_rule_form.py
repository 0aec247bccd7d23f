"""The form for a worker rule."""

from typing import Any

from django import forms

from hits.domain.money.usd import format_bare_usd, parse_usd
from hits.forms import PageForm
from validation.domain.qualification.worker_rules import RuleSettings
from validation.domain.qualification.worker_status import Measure, WorkerStatus
from validation.models import WorkerRule

MEASURE_LABELS = {
    Measure.ACCEPTABLE_SHARE: "Judged pairs that most judges find acceptable",
    Measure.BOXES_SHARE: "Judged pairs whose boxes most judges find appropriate",
    Measure.APPROVED_SHARE: "Decided submissions that were approved",
    Measure.REVIEWED_SHARE: "Reviewed questions without a wrong answer or a wrong object",
    Measure.CENTS_PER_HOUR: "Median pay per hour of active time (high pay means rushed work)",
    Measure.GOLD_SHARE: "Gold items answered as expected",
    Measure.ATTENTION_SHARE: "Attention checks answered as expected",
    Measure.REPEAT_SHARE: "Repeated items answered the same both times",
    Measure.PACE_SHARE: "Judgments that took long enough, compared with all workers’ times",
    Measure.VARIED_SHARE: "Judgments outside long runs of one answer",
    Measure.ORIGINAL_SHARE: "Written pairs that do not copy an earlier pair, exactly or nearly",
}
MAX_PERCENT = 100
MAX_ITEMS = 1000


def describe_limit(measure: str, below: int) -> str:
    """Return a label of a rule's limit: “under 80%”, “over $40.00 per hour”."""
    if measure == Measure.CENTS_PER_HOUR:
        return f"over ${format_bare_usd(below)} per hour"
    return f"under {below}%"


class WorkerRuleForm(PageForm):
    """A worker rule."""

    name = forms.CharField(max_length=120, help_text="For example “Acceptable pairs, last 50”.")
    measure = forms.ChoiceField(choices=[(measure.value, label) for measure, label in MEASURE_LABELS.items()])
    below = forms.CharField(
        max_length=10,
        label="Limit",
        help_text="The rule finds workers whose share is below this percentage, or whose pay is above this amount in "
        "US dollars per hour.",
        widget=forms.TextInput(attrs={"inputmode": "decimal", "autocomplete": "off"}),
    )
    window = forms.IntegerField(
        min_value=1,
        max_value=MAX_ITEMS,
        initial=50,
        label="Window",
        help_text="Number of newest items that count. Default 50.",
    )
    at_least = forms.IntegerField(
        min_value=1,
        max_value=MAX_ITEMS,
        initial=20,
        label="Minimum items",
        help_text="Workers with fewer items are skipped. Default 20.",
    )
    proposes = forms.ChoiceField(
        choices=[
            (WorkerStatus.PAUSED.value, "Pause the worker"),
            (WorkerStatus.DEQUALIFIED.value, "De-qualify the worker"),
        ],
        help_text="A researcher accepts or dismisses each proposal.",
    )

    @classmethod
    def for_rule(cls, rule: WorkerRule | None, data: Any) -> "WorkerRuleForm":
        """Return the form with the values of a stored rule."""
        if rule is None:
            return cls(data)
        below = format_bare_usd(rule.below) if rule.measure == Measure.CENTS_PER_HOUR else str(rule.below)
        names = ("name", "measure", "window", "at_least", "proposes")
        return cls(data, initial={name: getattr(rule, name) for name in names} | {"below": below})

    def clean(self) -> dict[str, Any]:
        """Parse the limit in the unit of the measure."""
        cleaned: dict[str, Any] = super().clean() or {}
        if "below" in cleaned and "measure" in cleaned:
            try:
                cleaned["below"] = _parse_limit(Measure(cleaned["measure"]), cleaned["below"])
            except ValueError as error:
                self.add_error("below", str(error))
        if cleaned.get("at_least", 0) > cleaned.get("window", MAX_ITEMS):
            self.add_error("at_least", f"Use {cleaned['window']} or fewer, the size of the window.")
        return cleaned

    @property
    def rule(self) -> RuleSettings:
        """The rule; requires a valid form."""
        data = self.cleaned_data
        return RuleSettings(Measure(data["measure"]), data["below"], data["window"], data["at_least"])

    @property
    def proposed_status(self) -> WorkerStatus:
        """The proposed status; requires a valid form."""
        return WorkerStatus(self.cleaned_data["proposes"])


def _parse_limit(measure: Measure, text: str) -> int:
    """Return the limit in percent or cents.

    Raises:
        ValueError: an invalid limit; the message says what to enter.
    """
    text = text.strip().removesuffix("%").removeprefix("$").strip()
    if measure is Measure.CENTS_PER_HOUR:
        try:
            cents = parse_usd(text)
        except ValueError:
            raise ValueError("Use US dollars per hour, such as 40.00.") from None
        if cents < 1:
            raise ValueError("Use more than 0, or the rule finds every worker.")
        return cents
    if not text.isdecimal() or not 1 <= int(text) <= MAX_PERCENT:
        raise ValueError("Use a whole percentage from 1 to 100, such as 80.")
    return int(text)
