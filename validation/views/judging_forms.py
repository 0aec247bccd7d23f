"""What people type to launch judging rounds, checked before a service sees it."""

import secrets
import uuid
from collections.abc import Mapping, Sequence
from typing import Any, ClassVar

from django import forms

from hits import registry
from hits.domain.money.costs import cost_table
from hits.domain.workers.qualification_pools import Pool
from hits.forms import MoneyField, PageForm, typed_cost
from hits.forms.parts import SumField
from hits.models import Project
from hits.selectors.eligibility.requirement_labels import WhoMay, holders_of, in_words
from hits.services.launching import launch_estimate
from hits.services.launching.eligibility import ASKED_FOR, access_for
from hits.services.launching.terms import MAX_OPINIONS, Terms
from hits.views.costs import cost_context
from validation.domain.judging.quality_check_types import MOST_PERCENT, ControlRole, Rates
from validation.domain.judging.quality_checks import MOST_USES
from validation.domain.judging.sampling import MOST_SEED, Allotment, How, Selection, SelectionError, Stratum
from validation.selectors.judging import Author, review
from validation.services.judging import RoundPlan

SEEDS = 1_000_000  # a seed that nobody typed is below, so that it can be read out
FIRST_SAMPLE = 200
_STRATA = {
    Stratum.WORKER: "author",
    Stratum.SPLIT: "split of the photo",
    Stratum.CONFIDENCE: "confidence",
    Stratum.SOURCE: "source of the photo",
}
_ALLOTMENTS = {Allotment.PROPORTIONAL: "in all, in proportion", Allotment.EQUAL: "from each"}


class TermsForm(PageForm):
    """What a judging round is called and pays, how many people judge each item, and who they may be."""

    name = forms.CharField(
        max_length=120,
        required=False,
        label="Name",
        help_text="Workers read it in the task’s description; empty gives a plain one.",
    )
    reward = MoneyField(least=1, label="Reward", help_text="US dollars for each judgment.")
    assignments = forms.IntegerField(
        min_value=1,
        max_value=MAX_OPINIONS,
        label="Judges each",
        help_text="Different people, never the author.",
    )
    pool = forms.ChoiceField(
        required=False,
        label="Who may judge",
        choices=[*((pool.value, holders_of(pool)) for pool in ASKED_FOR), ("", "Everybody")],
        widget=forms.RadioSelect,
    )

    def __init__(self, kind_name: str, *args: Any, usual_pool: Pool | None = None, **kwargs: Any) -> None:
        self.kind = registry.get(kind_name)
        usual = {
            "reward": self.kind.reward_cents,
            "assignments": self.kind.assignments_per_hit,
            "pool": usual_pool.value if usual_pool else "",
        }
        super().__init__(*args, initial=usual | kwargs.pop("initial", {}), **kwargs)

    def clean_pool(self) -> str:
        """Open the round to everybody only where somebody chose so."""
        chosen: str = self.cleaned_data["pool"]
        return chosen if "pool" in self.data else str(self.initial["pool"])

    @property
    def pool_asked(self) -> Pool | None:
        """What judges have to hold; the form has to be valid."""
        return Pool(self.cleaned_data["pool"]) if self.cleaned_data["pool"] else None

    @property
    def who_may(self) -> WhoMay:
        """Whom the round is open to, in words; the form has to be valid."""
        return in_words([holders_of(self.pool_asked)] if self.pool_asked else [], [], None)

    @property
    def terms(self) -> Terms:
        """What the round pays, and whom it is open to; the form has to be valid."""
        return Terms(
            reward_cents=self.cleaned_data["reward"],
            opinions=self.cleaned_data["assignments"],
            confirmed_cents=typed_cost(self.data),
            access=access_for(pool=self.pool_asked),
        )

    def costs(self, project: Project, units: int) -> dict[str, Any]:
        """Return what the confirming step shows of ``units`` tasks; the form has to be valid."""
        terms = self.terms
        each = self.cleaned_data["assignments"]
        found = launch_estimate.estimate(kind=self.kind, terms=terms, units=units)
        rewards = f"Rewards, {units} × {each} judge{'' if each == 1 else 's'}"
        return cost_context(
            project=project,
            cost=cost_table(found, rewards=rewards, reward_cents=self.cleaned_data["reward"]),
            held_cents=found.held_cents,
            most_cents=found.most_cents,
        ) | {"estimate": found, "terms": terms, "units": units, "launch_key": uuid.uuid4().hex}


def _percent(label: str) -> forms.IntegerField:
    return forms.IntegerField(min_value=0, max_value=MOST_PERCENT, required=False, initial=0, label=label)


class ControlsForm(TermsForm):
    """A round with controls mixed in; ``control_help`` says what each sort is, by its field."""

    control_help: ClassVar[Mapping[str, str]]
    gold = _percent("Gold units, %")
    attention = _percent("Attention checks, %")
    repeat = _percent("Repeated units, %")

    def __init__(self, *args: Any, **kwargs: Any) -> None:
        super().__init__(*args, **kwargs)
        for name, words in self.control_help.items():
            self.fields[name].help_text = words
        # Errors are listed in the order of the page, where what is judged comes first.
        self.order_fields([name for name in self.fields if name not in self.control_help])

    @property
    def shows_controls(self) -> bool:
        """Whether the controls stand open: something is set or to be mended there."""
        return self._used(*self.control_help)

    def _used(self, *names: str) -> bool:
        return any(self[name].errors or str(self[name].value() or "0") != "0" for name in names)

    @property
    def rates(self) -> Rates:
        """How many controls are mixed in; the form has to be valid."""
        return Rates(*(self.cleaned_data[name] or 0 for name in ("gold", "attention", "repeat")))


class ReviewForm(ControlsForm):
    """A review round: which pairs, whose judgment, controls, and what happens to undecided pairs."""

    control_help: ClassVar[Mapping[str, str]] = {
        "gold": "Pairs whose answer the project agreed on.",
        "attention": "A pair shown with another photo.",
        "repeat": "The same pair a second time.",
    }
    how = forms.ChoiceField(choices=[(how.value, how.value) for how in How], label="Which pairs")
    n = forms.IntegerField(min_value=1, required=False, label="How many")
    seed = forms.IntegerField(
        min_value=0,
        max_value=MOST_SEED,
        required=False,
        label="Seed",
        help_text="The same seed and pairs give the same sample. It is kept with the round.",
    )
    workers = forms.MultipleChoiceField(required=False, label="Authors")
    strata = forms.ChoiceField(
        required=False,
        label="Divided by",
        choices=[(by.value, words) for by, words in _STRATA.items()],
    )
    allotment = forms.ChoiceField(
        required=False,
        label="Spread",
        choices=[(way.value, words) for way, words in _ALLOTMENTS.items()],
    )
    again = forms.BooleanField(required=False, label="Also pairs that were sent to judges before")
    most_judges = forms.IntegerField(
        min_value=2,
        max_value=MAX_OPINIONS,
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
        self, authors: Sequence[Author], waiting: int, *args: Any, golds: int = 0, **kwargs: Any
    ) -> None:
        initial = {
            "how": How.ALL.value,
            "n": max(1, min(FIRST_SAMPLE, waiting)),
            "seed": secrets.randbelow(SEEDS),
            "strata": Stratum.WORKER.value,
            "allotment": Allotment.PROPORTIONAL.value,
        } | kwargs.pop("initial", {})
        super().__init__(review().name, *args, initial=initial, **kwargs)
        self.authors, self.golds = authors, golds
        listed: Any = self.fields["workers"]
        listed.choices = [(str(author.worker), f"W-{author.worker}") for author in authors]

    def clean(self) -> dict[str, Any]:
        """Put the selection, the controls and what follows together, each slip at its field."""
        data = super().clean() or {}
        if data.get("gold") and not self.golds:
            self.add_error("gold", "There is no gold unit in use; choose some first, or leave this at 0.")
        more, each = data.get("most_judges"), data.get("assignments")
        if more and each and more <= each:
            self.add_error("most_judges", f"Each pair gets {each} anyway; give more, or leave it empty.")
        if more and not data.get("ask_budget") and "ask_budget" not in self.errors:
            self.add_error("ask_budget", "Say what further judgments may cost.")
        if not self.errors:
            try:
                self.selection = self._selection(data)
            except SelectionError as error:
                self.add_error(error.field, str(error).partition(": ")[2].capitalize() + ".")
        return data

    def _selection(self, data: dict[str, Any]) -> Selection:
        how = How(data["how"])
        counts = how in {How.SAMPLE, How.STRATIFIED}
        return Selection(
            how=how,
            n=data["n"] if counts else None,
            seed=data["seed"] or 0,
            workers=tuple(int(pk) for pk in data["workers"]) if how is How.WORKERS else (),
            strata=Stratum(data["strata"] or Stratum.WORKER) if how is How.STRATIFIED else None,
            allotment=Allotment(data["allotment"] or Allotment.PROPORTIONAL),
            again=data["again"],
        )

    @property
    def shows_more(self) -> bool:
        """Whether asking one more stands open."""
        return self._used("most_judges", "ask_budget")

    def needs_more_gold(self, pairs: int) -> bool:
        """Tell whether a round of so many pairs would show a gold unit too often, and say so at the field."""
        wanted = self.rates.counts(pairs)[ControlRole.GOLD]
        if wanted <= MOST_USES * self.golds:
            return False
        there = f"There {'is' if self.golds == 1 else 'are'} {self.golds} in use, each shown twice at most"
        self.add_error(
            "gold", f"{there}, and this asks for {wanted}. Give fewer percent, or choose more gold."
        )
        return True

    @property
    def plan(self) -> RoundPlan:
        """How the round is put together; the form has to be valid."""
        return RoundPlan(
            selection=self.selection,
            rates=self.rates,
            most_judges=self.cleaned_data["most_judges"] or 0,
            ask_budget_cents=self.cleaned_data["ask_budget"] or 0,
        )
