"""The launch form: what a batch is called, pays and shows, and who may do it."""

from collections.abc import Mapping, Sequence
from typing import Any

from django import forms

from hits.domain.countries import codes_from
from hits.domain.money import parse_typed_usd
from hits.domain.opinions import MOST_PER_HIT
from hits.domain.pool import Pool
from hits.domain.qualifications import MAX_LOCALES
from hits.domain.states import UnitScope
from hits.forms.parts import MoneyField, PageForm, SumField
from hits.kind import HitKind
from hits.models import Instructions
from hits.mturk.environments import current
from hits.selectors.access import WhoMay, holders_of, in_words, listed
from hits.services.access import ASKED_FOR, PAPER_COUNTRIES, access_for
from hits.services.launch import MAX_OPINIONS, MOST_EACH, Access, Terms

LONGEST_KEY = 64


def launch_key(data: Mapping[str, Any]) -> str:
    """Return the name of this wish to launch: the confirming page gave it out, a second press repeats it."""
    return str(data.get("launch_key", ""))[:LONGEST_KEY]


def typed_cost(data: Mapping[str, Any]) -> int | None:
    """Return the cents that a person typed to confirm a launch on a live marketplace; ``None`` without."""
    try:
        return parse_typed_usd(str(data.get("typed_cost", "")))
    except ValueError:
        return None


# In the order in which the form offers them; what is enforced where: hits.domain.states.UnitScope.
SCOPES = {
    UnitScope.BATCH: "A worker gets each photo once in this batch",
    UnitScope.PROJECT: "A worker gets each photo once in the project, whichever batch of this kind asks",
}
OWN_TEXT = "The task’s own text"


def version_title(row: Instructions) -> str:
    """Return a version as a list offers it."""
    return f"Version {row.version}, {row.published_at:%-d %b %Y}: {row.note}"


class LaunchForm(PageForm):
    """What a batch is called, pays and shows."""

    name = forms.CharField(
        max_length=120, label="Name", help_text="Workers read it in the task’s description."
    )
    reward = MoneyField(least=1, label="Reward", help_text="US dollars for each submission.")
    bonus = MoneyField(label="Bonus", help_text="US dollars for each further complete observation.")
    assignments = forms.IntegerField(
        min_value=1,
        max_value=MAX_OPINIONS,
        label="Workers per photo",
        help_text=f"Different people each. Above {MOST_PER_HIT} a photo comes as several tasks: 12 as 9 and 3.",
    )
    which = forms.ChoiceField(choices=[("all", "All"), ("first", "Only the first")], widget=forms.RadioSelect)
    first = forms.IntegerField(min_value=1, required=False, label="How many")
    pool = forms.ChoiceField(
        required=False,
        label="Who may do these tasks",
        choices=[("", "Everybody"), *((pool.value, holders_of(pool)) for pool in ASKED_FOR)],
        widget=forms.RadioSelect,
    )
    where = forms.ChoiceField(
        required=False,
        label="Countries",
        choices=[("", "All"), ("paper", listed(PAPER_COUNTRIES)), ("some", "Only these")],
        widget=forms.RadioSelect,
    )
    countries = forms.CharField(required=False, max_length=2000, label="Which countries")
    worker_limit = forms.IntegerField(
        min_value=1,
        max_value=MOST_EACH,
        required=False,
        label="Most per worker",
        help_text="Tasks that one worker may do here. Left empty, as many as there are.",
    )
    unit_scope = forms.ChoiceField(
        required=False,
        label="The same photo again",
        choices=[(scope.value, words) for scope, words in SCOPES.items()],
        widget=forms.RadioSelect,
    )
    budget_cap = SumField(
        required=False,
        label="Budget cap",
        help_text="The most, in US dollars, that this batch may ever cost. Left empty, it has no cap of its own.",
    )
    masters_only = forms.BooleanField(
        required=False,
        label="Masters only",
        help_text="Workers whom the marketplace itself calls Masters. Their rewards cost a higher fee.",
    )
    instructions = forms.ChoiceField(
        required=False, label="Instructions", help_text="They can be changed while the batch runs."
    )

    def __init__(
        self, kind: HitKind, available: int, versions: Sequence[Instructions], *args: Any, **kwargs: Any
    ) -> None:
        kwargs.setdefault(
            "initial",
            {
                "reward": kind.reward_cents,
                "bonus": kind.bonus_cents,
                "assignments": kind.assignments_per_hit,
                "which": "all",
                "first": min(available, 10) or 1,
                "instructions": str(versions[0].version) if versions else "",
            },
        )
        super().__init__(*args, **kwargs)
        self.available = available
        self.versions = {str(row.version): row for row in versions}
        told: Any = self.fields["instructions"]
        told.choices = [*((key, version_title(row)) for key, row in self.versions.items()), ("", OWN_TEXT)]
        if not kind.max_bonus_items:
            del self.fields["bonus"]
        if not current().fees.masters_bp:  # a marketplace that charges nothing for Masters hardly has any
            del self.fields["masters_only"]

    def clean(self) -> dict[str, Any]:
        """Check the number of photos against what there is."""
        data = super().clean() or {}
        if data.get("which") == "first":
            first = data.get("first")
            if not first and "first" not in self.errors:
                self.add_error("first", "Say how many photos.")
            elif first and first > self.available:
                self.add_error("first", f"There are {self.available} photos; use that or fewer.")
        return data

    def clean_countries(self) -> tuple[str, ...]:
        """Return the codes of the countries that were chosen; none means all."""
        where = self.cleaned_data.get("where")
        if where == "paper":
            return PAPER_COUNTRIES
        if where != "some":
            return ()
        try:
            codes = codes_from(self.cleaned_data["countries"])
        except ValueError as error:
            raise forms.ValidationError(f"{error}.") from None
        if not codes:
            raise forms.ValidationError("Name the countries, such as US, CA, or choose all.")
        if len(codes) > MAX_LOCALES:
            raise forms.ValidationError(
                f"There are {len(codes)}; name {MAX_LOCALES} or fewer, or choose all."
            )
        return codes

    @property
    def access(self) -> Access:
        """Who may do the tasks and what they are told; the form has to be valid."""
        data = self.cleaned_data
        return access_for(
            pool=Pool(data["pool"]) if data["pool"] else None,
            countries=data["countries"],
            worker_limit=data["worker_limit"],
            instructions=self.versions.get(data["instructions"]),
        )

    @property
    def who_may(self) -> WhoMay:
        """The same in words, as the batch's page will say it."""
        data = self.cleaned_data
        people = [holders_of(Pool(data["pool"]))] if data["pool"] else []
        places = [listed(data["countries"])] if data["countries"] else []
        return in_words(people, places, data["worker_limit"])

    @property
    def units(self) -> int:
        """How many photos are meant; the form has to be valid."""
        return self.cleaned_data["first"] if self.cleaned_data["which"] == "first" else self.available

    @property
    def terms(self) -> Terms:
        """What the batch pays; the form has to be valid."""
        data = self.cleaned_data
        return Terms(
            reward_cents=data["reward"],
            bonus_cents=data.get("bonus", 0),
            opinions=data["assignments"],
            confirmed_cents=typed_cost(self.data),
            access=self.access,
            masters_only=data.get("masters_only", False),
            budget_cap_cents=data["budget_cap"],
            unit_scope=UnitScope(data["unit_scope"] or UnitScope.BATCH),
        )

    @property
    def scope_words(self) -> str:
        """What was chosen about seeing a photo twice, in words."""
        return SCOPES[self.terms.unit_scope]
