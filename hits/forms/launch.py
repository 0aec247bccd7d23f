"""The launch form: what a batch is called, pays and shows, and who may do it."""

from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass
from typing import Any

from django import forms

from hits.domain.images.image_selection import ChoiceError, How, PhotoChoice
from hits.domain.money.usd import parse_typed_usd
from hits.domain.states import UnitScope
from hits.domain.units.redundancy import MOST_PER_HIT
from hits.domain.workers.countries import codes_from
from hits.domain.workers.qualification_pools import Pool
from hits.domain.workers.requirements import MAX_LOCALES
from hits.forms.parts import MoneyField, PageForm, SumField
from hits.kind import HitKind
from hits.models import Instructions
from hits.mturk.environments import current
from hits.selectors.eligibility.requirement_labels import WhoMay, holders_of, in_words, listed
from hits.services.launching.eligibility import ASKED_FOR, PAPER_COUNTRIES, access_for
from hits.services.launching.launch import MOST_EACH
from hits.services.launching.terms import MAX_OPINIONS, Access, Terms

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
    UnitScope.BATCH: "A worker gets each %s once in this batch",
    UnitScope.PROJECT: "A worker gets each %s once in the project, whichever batch of this kind asks",
}
OWN_TEXT = "The task’s own text"


def version_title(row: Instructions) -> str:
    """Return a version as a list offers it."""
    return f"Version {row.version}, {row.published_at:%-d %b %Y}: {row.note}"


class BatchTermsForm(PageForm):
    """What a batch is called and pays, who may do it, and what it shows."""

    name = forms.CharField(
        max_length=120, label="Name", help_text="Workers read it in the task’s description."
    )
    reward = MoneyField(least=1, label="Reward", help_text="US dollars for each submission.")
    bonus = MoneyField(label="Bonus", help_text="US dollars for each further complete observation.")
    assignments = forms.IntegerField(min_value=1, max_value=MAX_OPINIONS)
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
        required=False, choices=[(scope.value, scope.value) for scope in SCOPES], widget=forms.RadioSelect
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

    def __init__(self, kind: HitKind, versions: Sequence[Instructions], *args: Any, **kwargs: Any) -> None:
        initial = {
            "reward": kind.reward_cents,
            "bonus": kind.bonus_cents,
            "assignments": kind.assignments_per_hit,
            "instructions": str(versions[0].version) if versions else "",
        }
        kwargs["initial"] = initial | kwargs.get("initial", {})
        super().__init__(*args, **kwargs)
        self.kind = kind
        self._speak_of(kind.unit_word[0])
        self.versions = {str(row.version): row for row in versions}
        told: Any = self.fields["instructions"]
        told.choices = [*((key, version_title(row)) for key, row in self.versions.items()), ("", OWN_TEXT)]
        if not kind.max_bonus_items:
            del self.fields["bonus"]
        if not current().fees.masters_bp:  # a marketplace that charges nothing for Masters hardly has any
            del self.fields["masters_only"]

    def _speak_of(self, unit: str) -> None:
        """Call a unit what its kind calls it."""
        each, scope = self.fields["assignments"], self.fields["unit_scope"]
        each.label = f"Workers per {unit}"
        each.help_text = (
            f"Different people each. Above {MOST_PER_HIT} a {unit} comes as several tasks: 12 as 9 and 3."
        )
        scope.label = f"The same {unit} again"
        scope.choices = [(value.value, words % unit) for value, words in SCOPES.items()]  # type: ignore[attr-defined]

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
            unit_scope=UnitScope(data.get("unit_scope") or UnitScope.BATCH),
        )

    @property
    def scope_words(self) -> str:
        """What was chosen about seeing a photo twice, in words."""
        return SCOPES[self.terms.unit_scope] % self.kind.unit_word[0]


HOW = {
    How.ALL: "All",
    How.FIRST: "Only the first",
    How.RANDOM: "Drawn at random",
    How.NAMED: "Picked by hand",
}


@dataclass(frozen=True, slots=True)
class Photos:
    """The photos that a launch can take: how many wait, what they can be told apart by, and how some are chosen."""

    available: int
    all: int
    splits: Sequence[tuple[str, int]]
    sources: Sequence[str]
    choose: Callable[[PhotoChoice], list[int]]


class LaunchForm(BatchTermsForm):
    """A batch over photos: which of them, and its terms. ``chosen`` are their ids once the form is valid."""

    which = forms.ChoiceField(
        choices=[(how.value, words) for how, words in HOW.items()], widget=forms.RadioSelect
    )
    first = forms.IntegerField(min_value=1, required=False, label="How many")
    drawn = forms.IntegerField(min_value=1, required=False, label="How many are drawn")
    seed = forms.IntegerField(min_value=0, required=False, label="Seed")
    names = forms.CharField(required=False, widget=forms.Textarea(attrs={"rows": 4}), label="Which photos")
    split = forms.ChoiceField(required=False, label="Split")
    source = forms.ChoiceField(required=False, label="Source")
    again = forms.BooleanField(required=False, label="Also photos that such a batch showed already")

    def __init__(
        self, kind: HitKind, photos: Photos, versions: Sequence[Instructions], *args: Any, **kwargs: Any
    ) -> None:
        some = min(photos.available, 10) or 1
        kwargs["initial"] = {"which": "all", "first": some, "drawn": some, "seed": 1} | kwargs.get(
            "initial", {}
        )
        super().__init__(kind, versions, *args, **kwargs)
        self.photos = photos
        self.chosen: list[int] = []
        self._offer("split", [(name, f"{name}, {count} photos") for name, count in photos.splits])
        self._offer("source", [(name, name) for name in photos.sources])

    def _offer(self, name: str, choices: list[tuple[str, str]]) -> None:
        if choices:
            self.fields[name].choices = [("", "All"), *choices]  # type: ignore[attr-defined]
        else:
            del self.fields[name]

    def clean(self) -> dict[str, Any]:
        """Choose the photos, or say at which field the choice has to be mended."""
        data = super().clean() or {}
        if not {"which", "first", "drawn", "seed", "split", "source"} & set(self.errors):
            try:
                self.chosen = self.photos.choose(self.choice)
            except ChoiceError as error:
                self.add_error(self._field(error.field), str(error))
            else:
                if not self.chosen:
                    self.add_error(None, self._nothing_left())
        return data

    def _nothing_left(self) -> str:
        ways = [f"choose another {name}" for name in ("split", "source") if name in self.fields]
        if self.photos.all > self.photos.available and not self.cleaned_data.get("again"):
            ways.append("tick that photos which such a batch showed may be asked about again")
        return f"No photo is left by this choice; {', or '.join(ways) or 'add photos'}."

    def _field(self, wrong: str) -> str:
        if wrong == "n":
            return "drawn" if self.cleaned_data["which"] == How.RANDOM else "first"
        return wrong

    @property
    def choice(self) -> PhotoChoice:
        """Which photos are meant."""
        data = self.cleaned_data
        how = How(data["which"])
        return PhotoChoice(
            how=how,
            n={How.FIRST: data.get("first"), How.RANDOM: data.get("drawn")}.get(how),
            seed=data.get("seed") if how is How.RANDOM else None,
            names=tuple(filter(None, map(str.strip, data.get("names", "").splitlines())))
            if how is How.NAMED
            else (),
            split=data.get("split", ""),
            source=data.get("source", ""),
            again=data.get("again", False),
        )

    @property
    def choice_words(self) -> str:
        """Which photos were chosen, in words."""
        choice, words = self.choice, HOW[self.choice.how]
        if choice.how is How.RANDOM:
            words += f", with seed {choice.seed}"
        parts = [f"split {choice.split}"] if choice.split else []
        parts += [f"from {choice.source}"] if choice.source else []
        parts += ["shown before or not"] if choice.again else ["in no batch of this kind yet"]
        return f"{words}: {', '.join(parts)}"
