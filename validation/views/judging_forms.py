"""What people type to launch judging rounds, checked before a service sees it."""

import secrets
import uuid
from collections.abc import Mapping, Sequence
from typing import Any, ClassVar

from django import forms

from hits import registry
from hits.domain.money.costs import cost_table
from hits.domain.workers.qualification_pools import Pool
from hits.forms import MoneyField, PageForm, typed_cost_cents
from hits.forms.fields import SumField
from hits.models import Project
from hits.selectors.eligibility.requirement_labels import (
    EligibilitySummary,
    pool_label,
    summarize_eligibility,
)
from hits.services.launching import launch_estimate
from hits.services.launching.eligibility import SELECTABLE_POOLS, build_eligibility
from hits.services.launching.terms import MAX_REDUNDANCY, LaunchTerms
from hits.views.costs import cost_context
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

SEED_RANGE = 1_000_000  # a seed that nobody typed is below, so that it can be read out
DEFAULT_SAMPLE_SIZE = 200
_STRATUM_LABELS = {
    Stratum.WORKER: "author",
    Stratum.SPLIT: "split of the photo",
    Stratum.CONFIDENCE: "confidence",
    Stratum.SOURCE: "source of the photo",
}
_ALLOTMENT_LABELS = {Allocation.PROPORTIONAL: "in all, in proportion", Allocation.EQUAL: "from each"}


class RoundTermsForm(PageForm):
    """What a judging round is called and pays, how many people judge each item, and who they may be."""

    name = forms.CharField(
        max_length=120,
        required=False,
        label="Name",
        help_text="Workers read it in the task’s description; empty gives a plain one.",
    )
    reward = MoneyField(min_cents=1, label="Reward", help_text="US dollars for each judgment.")
    assignments = forms.IntegerField(
        min_value=1,
        max_value=MAX_REDUNDANCY,
        label="Judges each",
        help_text="Different people, never the author.",
    )
    pool = forms.ChoiceField(
        required=False,
        label="Who may judge",
        choices=[*((pool.value, pool_label(pool)) for pool in SELECTABLE_POOLS), ("", "All workers")],
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
        """Open the round to everybody only where somebody chose so."""
        chosen: str = self.cleaned_data["pool"]
        return chosen if "pool" in self.data else str(self.initial["pool"])

    @property
    def selected_pool(self) -> Pool | None:
        """What judges have to hold; the form has to be valid."""
        return Pool(self.cleaned_data["pool"]) if self.cleaned_data["pool"] else None

    @property
    def eligibility_summary(self) -> EligibilitySummary:
        """Whom the round is open to, in words; the form has to be valid."""
        return summarize_eligibility([pool_label(self.selected_pool)] if self.selected_pool else [], [], None)

    @property
    def terms(self) -> LaunchTerms:
        """What the round pays, and whom it is open to; the form has to be valid."""
        return LaunchTerms(
            reward_cents=self.cleaned_data["reward"],
            redundancy=self.cleaned_data["assignments"],
            confirmed_cents=typed_cost_cents(self.data),
            eligibility=build_eligibility(pool=self.selected_pool),
        )

    def costs(self, project: Project, units: int) -> dict[str, Any]:
        """Return what the confirming step shows of ``units`` tasks; the form has to be valid."""
        terms = self.terms
        redundancy = self.cleaned_data["assignments"]
        estimate = launch_estimate.estimate_cost(kind=self.kind, terms=terms, units=units)
        rewards = f"Rewards, {units} × {redundancy} judge{'' if redundancy == 1 else 's'}"
        return cost_context(
            project=project,
            cost=cost_table(estimate, rewards=rewards, reward_cents=self.cleaned_data["reward"]),
            held_cents=estimate.held_cents,
            max_cents=estimate.max_cents,
        ) | {"estimate": estimate, "terms": terms, "units": units, "idempotency_key": uuid.uuid4().hex}


def _percent_field(label: str) -> forms.IntegerField:
    return forms.IntegerField(min_value=0, max_value=MAX_PERCENT, required=False, initial=0, label=label)


class QualityChecksForm(RoundTermsForm):
    """A round with controls mixed in; ``control_help`` says what each sort is, by its field."""

    check_help: ClassVar[Mapping[str, str]]
    gold = _percent_field("Gold units, %")
    attention = _percent_field("Attention checks, %")
    repeat = _percent_field("Repeated units, %")

    def __init__(self, *args: Any, **kwargs: Any) -> None:
        super().__init__(*args, **kwargs)
        for name, words in self.check_help.items():
            self.fields[name].help_text = words
        # Errors are listed in the order of the page, where what is judged comes first.
        self.order_fields([name for name in self.fields if name not in self.check_help])

    @property
    def shows_checks(self) -> bool:
        """Whether the controls stand open: something is set or to be mended there."""
        return self._has_input(*self.check_help)

    def _has_input(self, *names: str) -> bool:
        return any(self[name].errors or str(self[name].value() or "0") != "0" for name in names)

    @property
    def rates(self) -> CheckRates:
        """How many controls are mixed in; the form has to be valid."""
        return CheckRates(*(self.cleaned_data[name] or 0 for name in ("gold", "attention", "repeat")))


class ReviewRoundForm(QualityChecksForm):
    """A review round: which pairs, whose judgment, controls, and what happens to undecided pairs."""

    check_help: ClassVar[Mapping[str, str]] = {
        "gold": "Pairs whose answer the project agreed on.",
        "attention": "A pair shown with another photo.",
        "repeat": "The same pair a second time.",
    }
    how = forms.ChoiceField(choices=[(how.value, how.value) for how in SelectionMethod], label="Which pairs")
    n = forms.IntegerField(min_value=1, required=False, label="How many")
    seed = forms.IntegerField(
        min_value=0,
        max_value=MAX_SEED,
        required=False,
        label="Seed",
        help_text="The same seed and pairs give the same sample. It is kept with the round.",
    )
    workers = forms.MultipleChoiceField(required=False, label="Authors")
    strata = forms.ChoiceField(
        required=False,
        label="Divided by",
        choices=[(by.value, words) for by, words in _STRATUM_LABELS.items()],
    )
    allotment = forms.ChoiceField(
        required=False,
        label="Spread",
        choices=[(way.value, words) for way, words in _ALLOTMENT_LABELS.items()],
    )
    again = forms.BooleanField(required=False, label="Also pairs that were sent to judges before")
    max_redundancy = forms.IntegerField(
        min_value=2,
        max_value=MAX_REDUNDANCY,
        required=False,
        label="Ask one more, up to",
        help_text="Judges of a pair that the newest run’s rules leave undecided; three always have a majority.",
    )
    ask_budget = SumField(
        required=False,
        label="For at most",
        help_text="US dollars for all further judgments together.",
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
        """Put the selection, the controls and what follows together, each slip at its field."""
        data = super().clean() or {}
        if data.get("gold") and not self.gold_count:
            self.add_error("gold", "There is no gold unit in use; choose some first, or leave this at 0.")
        max_redundancy, redundancy = data.get("max_redundancy"), data.get("assignments")
        if max_redundancy and redundancy and max_redundancy <= redundancy:
            self.add_error(
                "max_redundancy", f"Each pair gets {redundancy} anyway; give more, or leave it empty."
            )
        if max_redundancy and not data.get("ask_budget") and "ask_budget" not in self.errors:
            self.add_error("ask_budget", "Say what further judgments may cost.")
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
    def shows_follow_up(self) -> bool:
        """Whether asking one more stands open."""
        return self._has_input("max_redundancy", "ask_budget")

    def check_gold_supply(self, pairs: int) -> bool:
        """Tell whether a round of so many pairs would show a gold unit too often, and say so at the field."""
        required = self.rates.counts(pairs)[CheckRole.GOLD]
        if required <= MAX_GOLD_USES * self.gold_count:
            return False
        available = f"There {'is' if self.gold_count == 1 else 'are'} {self.gold_count} in use, each shown twice at most"
        self.add_error(
            "gold", f"{available}, and this asks for {required}. Give fewer percent, or choose more gold."
        )
        return True

    @property
    def plan(self) -> RoundPlan:
        """How the round is put together; the form has to be valid."""
        return RoundPlan(
            selection=self.selection,
            rates=self.rates,
            max_redundancy=self.cleaned_data["max_redundancy"] or 0,
            ask_budget_cents=self.cleaned_data["ask_budget"] or 0,
        )
