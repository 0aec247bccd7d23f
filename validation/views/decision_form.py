"""Forms for decision rules: one per dimension of a kind, and the limits of follow-up rounds."""

from collections.abc import Mapping
from typing import Any

from django import forms

from hits.forms import PageForm
from hits.forms.fields import BudgetField
from validation.domain.decision_rules import MAX_REDUNDANCY, DecisionRule, Method, RuleError
from validation.models import JudgingRound
from validation.registry import spec_of
from validation.selectors.decisions import DEFAULT_K

METHOD_LABELS = {
    Method.MAJORITY: "Majority",
    Method.K_OF_N: "k of n",
    Method.WEIGHTED: "Weighted by reliability",
}
SHORT_METHOD_LABELS = {Method.MAJORITY: "Majority", Method.K_OF_N: "k of n", Method.WEIGHTED: "Weighted"}


def describe_rule(rule: DecisionRule) -> str:
    """Return a short label of a rule, such as "2 of 3" or "weighted at 0.9"."""
    if rule.method is Method.WEIGHTED:
        return f"weighted at {rule.threshold:g}"
    if rule.method is Method.K_OF_N:
        return f"{rule.k} of {rule.of}" if rule.of else f"at least {rule.k}"
    return SHORT_METHOD_LABELS[rule.method].lower()


def label_titles(kind: str, dimension: str) -> dict[str, str]:
    """Return a dimension's labels with their titles, best first."""
    spec_dimension = spec_of(kind).dimension(dimension)
    return {str(label): spec_dimension.label_text(label) for label in spec_dimension.labels_best_first}


class DecisionRuleForm(PageForm):
    """The rule of one dimension."""

    method = forms.ChoiceField(
        label="Method", choices=[(method.value, label) for method, label in METHOD_LABELS.items()]
    )
    positive = forms.MultipleChoiceField(label="Counts as positive")
    k = forms.IntegerField(
        min_value=1,
        max_value=MAX_REDUNDANCY,
        label="Positive (k)",
        help_text="For k of n: positive judgments that an item needs to be accepted.",
    )
    of = forms.IntegerField(
        min_value=1,
        max_value=MAX_REDUNDANCY,
        required=False,
        label="Judges (n)",
        help_text="For k of n: judges per item. Leave empty to use all judges so far.",
    )
    threshold = forms.FloatField(
        min_value=0.5,
        max_value=1,
        label="Probability",
        help_text="For the weighted method: posterior probability from which an item is accepted, 0.5 to 1.",
        widget=forms.TextInput(attrs={"inputmode": "decimal", "autocomplete": "off"}),
    )
    at_least = forms.IntegerField(
        min_value=1,
        max_value=MAX_REDUNDANCY,
        label="Minimum judges",
        help_text="Items with fewer judges stay undecided.",
    )

    def __init__(self, kind: str, dimension: str, rule: DecisionRule, data: Any = None) -> None:
        super().__init__(
            data,
            prefix=dimension,
            initial={
                "method": rule.method.value,
                "positive": [str(label) for label in rule.positive],
                "k": rule.k or DEFAULT_K,
                "of": rule.of,
                "threshold": rule.threshold,
                "at_least": rule.at_least,
            },
        )
        self.dimension = dimension
        self.title = spec_of(kind).dimension_title(dimension)
        self.titles = label_titles(kind, dimension)
        self.fields["positive"].choices = list(self.titles.items())  # type: ignore[attr-defined]
        self.rule: DecisionRule | None = None

    def clean(self) -> dict[str, Any]:
        """Build the rule; if values contradict each other, add an error to the field."""
        cleaned: dict[str, Any] = super().clean() or {}
        if not self.errors:
            try:
                self.rule = DecisionRule(
                    dimension=self.dimension,
                    method=Method(cleaned["method"]),
                    positive=tuple(label for label in self.titles if label in cleaned["positive"]),
                    k=cleaned["k"],
                    of=cleaned["of"],
                    threshold=cleaned["threshold"],
                    at_least=cleaned["at_least"],
                )
            except RuleError as error:
                self.add_error(error.field if error.field in self.fields else None, str(error))
        return cleaned

    @property
    def positive_options(self) -> list[tuple[str, str, bool]]:
        """The labels with their titles, and whether each counts as positive."""
        positive = set(self["positive"].value() or ())
        return [(label, title, label in positive) for label, title in self.titles.items()]

    @property
    def listed_errors(self) -> list[tuple[str, str, str]]:
        """The errors as (field id, label, message)."""
        found = [("", "", str(error)) for error in self.non_field_errors()]
        for bound in self:
            field_id = bound.id_for_label or f"id_{bound.html_name}"
            found += [(field_id, str(bound.label), str(error)) for error in bound.errors]
        return found


def rule_forms(kind: str, rules: Mapping[str, DecisionRule], data: Any = None) -> list[DecisionRuleForm]:
    """Return one form per dimension."""
    return [DecisionRuleForm(kind, name, rule, data) for name, rule in rules.items()]


class FollowUpLimitsForm(PageForm):
    """The limits of a round's follow-ups: workers per item, and the total budget."""

    max_redundancy = forms.IntegerField(
        min_value=0,
        max_value=MAX_REDUNDANCY,
        label="Maximum workers per item",
        help_text="In total, follow-ups included. 0 turns follow-ups off.",
    )
    ask_budget = BudgetField(
        label="Follow-up budget", help_text="US dollars for all follow-ups of this round."
    )

    @classmethod
    def for_round(cls, first: JudgingRound, data: Any = None) -> "FollowUpLimitsForm":
        """Return the form with a round's limits."""
        default_redundancy = first.max_redundancy or first.batch.redundancy + 2
        return cls(data, initial={"max_redundancy": default_redundancy, "ask_budget": first.ask_budget_cents})
