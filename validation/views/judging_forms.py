"""Forms for launching judging rounds."""

import secrets
import uuid
from collections.abc import Mapping, Sequence
from typing import Any, ClassVar

from django import forms

from hits import registry
from hits.domain.workers.qualification_pools import Pool
from hits.forms import MoneyField, PageForm, typed_cost_cents
from hits.forms.fields import BudgetField
from hits.models import Project
from hits.selectors.eligibility.requirement_labels import (
    EligibilitySummary,
    pool_label,
    summarize_eligibility,
)
from hits.services.launching import launch_estimate
from hits.services.launching.eligibility import SELECTABLE_POOLS, build_eligibility
from hits.services.launching.terms import MAX_REDUNDANCY, LaunchTerms
from hits.views.costs import estimate_context
from validation.domain.judging.quality_check_types import MAX_PERCENT, CheckRates, CheckRole
from validation.domain.judging.quality_checks import MAX_GOLD_USES
from validation.domain.judging.sampling import (
    MAX_SEED,
    Allocation,
    Selection,
    SelectionError,
    SelectionMethod,
    Stratum,
)
from validation.selectors.judging import Author, review_spec
from validation.services.judging import RoundPlan

SEED_RANGE = 1_000_000  # random default seeds are below this, so that they are short
DEFAULT_SAMPLE_SIZE = 200
_STRATUM_LABELS = {
    Stratum.WORKER: "author",
    Stratum.SPLIT: "split of the photo",
    Stratum.CONFIDENCE: "confidence",
    Stratum.SOURCE: "source of the photo",
}
_ALLOCATION_LABELS = {
    Allocation.PROPORTIONAL: "in total, proportional to the strata",
    Allocation.EQUAL: "from each stratum",
}


class RoundTermsForm(PageForm):
    """The name, reward, redundancy and eligibility of a judging round."""

    name = forms.CharField(
        max_length=120,
        required=False,
        label="Name",
        help_text="Shown to workers in the task’s description. Leave empty for a default name.",
    )
    reward = MoneyField(min_cents=1, label="Reward", help_text="US dollars per judgment.")
    assignments = forms.IntegerField(
        min_value=1,
        max_value=MAX_REDUNDANCY,
        label="Workers per item",
        help_text="Different workers, never the author.",
    )
    pool = forms.ChoiceField(
        required=False,
        label="Who can judge",
        choices=[("", "All workers"), *((pool.value, pool_label(pool)) for pool in SELECTABLE_POOLS)],
        widget=forms.RadioSelect,
    )

    def __init__(self, kind_name: str, *args: Any, default_pool: Pool | None = None, **kwargs: Any) -> None:
        self.kind = registry.get_kind(kind_name)
        defaults = {
            "reward": self.kind.reward_cents,
            "assignments": self.kind.redundancy,
            "pool": default_pool.value if default_pool else "",
        }
        super().__init__(*args, initial=defaults | kwargs.pop("initial", {}), **kwargs)

    def clean_pool(self) -> str:
        """Open the round to all workers only if the form was sent with that choice."""
        chosen: str = self.cleaned_data["pool"]
        return chosen if "pool" in self.data else str(self.initial["pool"])

    @property
    def selected_pool(self) -> Pool | None:
        """The pool that judges must belong to; requires a valid form."""
        return Pool(self.cleaned_data["pool"]) if self.cleaned_data["pool"] else None

    @property
    def eligibility_summary(self) -> EligibilitySummary:
        """A summary of who can work on the round; requires a valid form."""
        return summarize_eligibility([pool_label(self.selected_pool)] if self.selected_pool else [], [], None)

    @property
    def terms(self) -> LaunchTerms:
        """The launch terms of the round; requires a valid form."""
        return LaunchTerms(
            reward_cents=self.cleaned_data["reward"],
            redundancy=self.cleaned_data["assignments"],
            confirmed_cents=typed_cost_cents(self.data),
            eligibility=build_eligibility(pool=self.selected_pool),
        )

    def confirm_context(self, project: Project, units: int) -> dict[str, Any]:
        """Return the context of the confirmation step for ``units`` units; requires a valid form."""
        terms = self.terms
        redundancy = self.cleaned_data["assignments"]
        estimate = launch_estimate.estimate_cost(kind=self.kind, terms=terms, units=units)
        rewards = f"Rewards, {units} × {redundancy} worker{'' if redundancy == 1 else 's'}"
        reward: int = self.cleaned_data["reward"]
        context = estimate_context(project=project, estimate=estimate, rewards=rewards, reward_cents=reward)
        return context | {"terms": terms, "units": units, "idempotency_key": uuid.uuid4().hex}


def _percent_field(label: str) -> forms.IntegerField:
    return forms.IntegerField(min_value=0, max_value=MAX_PERCENT, required=False, initial=0, label=label)


class QualityChecksForm(RoundTermsForm):
    """A round with quality checks; ``check_help`` is each check's help text by field."""

    check_help: ClassVar[Mapping[str, str]]
    gold = _percent_field("Gold items, %")
    attention = _percent_field("Attention checks, %")
    repeat = _percent_field("Repeated items, %")

    def __init__(self, *args: Any, **kwargs: Any) -> None:
        super().__init__(*args, **kwargs)
        for name, help_text in self.check_help.items():
            self.fields[name].help_text = help_text
        # Errors follow the order of the page, where the selection of items comes first.
        self.order_fields([name for name in self.fields if name not in self.check_help])

    @property
    def is_checks_section_open(self) -> bool:
        """Whether to open the section of quality checks: it has a value or an error."""
        return self._has_input(*self.check_help)

    def _has_input(self, *names: str) -> bool:
        return any(self[name].errors or str(self[name].value() or "0") != "0" for name in names)

    @property
    def rates(self) -> CheckRates:
        """The rates of quality checks; requires a valid form."""
        return CheckRates(*(self.cleaned_data[name] or 0 for name in ("gold", "attention", "repeat")))


class ReviewRoundForm(QualityChecksForm):
    """A review round: selection of pairs, terms, quality checks, and follow-ups."""

    check_help: ClassVar[Mapping[str, str]] = {
        "gold": "Pairs with a known answer.",
        "attention": "Pairs shown with another photo.",
        "repeat": "Pairs shown a second time.",
    }
    how = forms.ChoiceField(choices=[(how.value, how.value) for how in SelectionMethod], label="Pairs")
    n = forms.IntegerField(min_value=1, required=False, label="Sample size")
    seed = forms.IntegerField(
        min_value=0,
        max_value=MAX_SEED,
        required=False,
        label="Seed",
        help_text="The same seed and pairs give the same sample. Stored with the round.",
    )
    workers = forms.MultipleChoiceField(required=False, label="Authors")
    strata = forms.ChoiceField(
        required=False,
        label="Stratify by",
        choices=[(stratum.value, label) for stratum, label in _STRATUM_LABELS.items()],
    )
    allotment = forms.ChoiceField(
        required=False,
        label="Allocation",
        choices=[(allocation.value, label) for allocation, label in _ALLOCATION_LABELS.items()],
    )
    again = forms.BooleanField(required=False, label="Include pairs that were sent to judges before")
    max_redundancy = forms.IntegerField(
        min_value=2,
        max_value=MAX_REDUNDANCY,
        required=False,
        label="Maximum workers per item",
        help_text="Undecided pairs get one more worker at a time, up to this number. Leave empty for no follow-ups.",
    )
    ask_budget = BudgetField(
        required=False, label="Follow-up budget", help_text="US dollars for all follow-ups together."
    )

    def __init__(
        self, authors: Sequence[Author], waiting: int, *args: Any, gold_count: int = 0, **kwargs: Any
    ) -> None:
        initial = {
            "how": SelectionMethod.ALL.value,
            "n": max(1, min(DEFAULT_SAMPLE_SIZE, waiting)),
            "seed": secrets.randbelow(SEED_RANGE),
            "strata": Stratum.WORKER.value,
            "allotment": Allocation.PROPORTIONAL.value,
        } | kwargs.pop("initial", {})
        super().__init__(review_spec().name, *args, initial=initial, **kwargs)
        self.authors, self.gold_count = authors, gold_count
        workers_field: Any = self.fields["workers"]
        workers_field.choices = [(str(author.worker), f"W-{author.worker}") for author in authors]

    def clean(self) -> dict[str, Any]:
        """Build the selection; add each error to its field."""
        data = super().clean() or {}
        if data.get("gold") and not self.gold_count:
            self.add_error("gold", "No gold item is in use. Add gold items first, or use 0.")
        max_redundancy, redundancy = data.get("max_redundancy"), data.get("assignments")
        if max_redundancy and redundancy and max_redundancy <= redundancy:
            self.add_error(
                "max_redundancy",
                f"Each pair gets {redundancy} workers anyway. Use a larger number, or leave this empty.",
            )
        if max_redundancy and not data.get("ask_budget") and "ask_budget" not in self.errors:
            self.add_error("ask_budget", "Enter the budget of the follow-ups.")
        if not self.errors:
            try:
                self.selection = self._selection(data)
            except SelectionError as error:
                self.add_error(error.field, str(error).partition(": ")[2].capitalize() + ".")
        return data

    def _selection(self, data: dict[str, Any]) -> Selection:
        how = SelectionMethod(data["how"])
        is_sample = how in {SelectionMethod.SAMPLE, SelectionMethod.STRATIFIED}
        return Selection(
            method=how,
            n=data["n"] if is_sample else None,
            seed=data["seed"] or 0,
            workers=tuple(int(pk) for pk in data["workers"]) if how is SelectionMethod.WORKERS else (),
            stratify_by=Stratum(data["strata"] or Stratum.WORKER)
            if how is SelectionMethod.STRATIFIED
            else None,
            allocation=Allocation(data["allotment"] or Allocation.PROPORTIONAL),
            include_judged=data["again"],
        )

    @property
    def is_follow_up_section_open(self) -> bool:
        """Whether to open the section of follow-ups: it has a value or an error."""
        return self._has_input("max_redundancy", "ask_budget")

    def add_gold_shortage_error(self, pairs: int) -> bool:
        """Return whether a round of ``pairs`` pairs needs more gold items; if so, add an error to the field."""
        required = self.rates.counts(pairs)[CheckRole.GOLD]
        if required <= MAX_GOLD_USES * self.gold_count:
            return False
        verb = "is" if self.gold_count == 1 else "are"
        available = f"{self.gold_count} {verb} in use, and a round uses each at most twice"
        self.add_error(
            "gold", f"This needs {required} gold items; {available}. Lower the percentage, or add gold items."
        )
        return True

    @property
    def plan(self) -> RoundPlan:
        """The round's plan; requires a valid form."""
        return RoundPlan(
            selection=self.selection,
            rates=self.rates,
            max_redundancy=self.cleaned_data["max_redundancy"] or 0,
            ask_budget_cents=self.cleaned_data["ask_budget"] or 0,
        )
