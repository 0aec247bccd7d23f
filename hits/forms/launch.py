"""The launch form: a batch's name, pay, instructions and eligibility."""

from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass
from typing import Any

from django import forms

from hits.domain.images.image_selection import ImageSelection, ImageSelectionError, SelectionMethod
from hits.domain.money.usd import parse_typed_usd
from hits.domain.states import UnitScope
from hits.domain.units.planner_options import PlannerOption
from hits.domain.units.redundancy import MAX_ASSIGNMENTS
from hits.domain.workers.countries import parse_countries
from hits.domain.workers.qualification_pools import Pool
from hits.domain.workers.requirements import MAX_LOCALES
from hits.forms.fields import BudgetField, MoneyField, PageForm
from hits.kind import HitKind
from hits.models import Instructions
from hits.mturk.environments import current_environment
from hits.selectors.eligibility.requirement_labels import (
    EligibilitySummary,
    join_country_names,
    pool_label,
    summarize_eligibility,
)
from hits.services.launching.eligibility import SELECTABLE_POOLS, SHERLOCK_COUNTRIES, build_eligibility
from hits.services.launching.launch import MAX_WORKER_LIMIT
from hits.services.launching.terms import MAX_REDUNDANCY, Eligibility, LaunchTerms

MAX_KEY_LENGTH = 64


def read_idempotency_key(data: Mapping[str, Any]) -> str:
    """Return the idempotency key of a confirmation page: a second submission of its form has no effect."""
    return str(data.get("idempotency_key", ""))[:MAX_KEY_LENGTH]


def typed_cost_cents(data: Mapping[str, Any]) -> int | None:
    """Return the amount in cents that the person typed to confirm the cost, or ``None``."""
    try:
        return parse_typed_usd(str(data.get("typed_cost", "")))
    except ValueError:
        return None


# In the form's order; hits.domain.states.UnitScope says what each scope enforces.
UNIT_SCOPE_LABELS = {
    UnitScope.BATCH: "A worker gets the same %s at most once per batch",
    UnitScope.PROJECT: "A worker gets the same %s at most once per project, across all batches of this kind",
}
BUILT_IN_INSTRUCTIONS = "Built-in instructions"


def version_label(row: Instructions) -> str:
    """Return a version's label for a list."""
    return f"Version {row.version}, {row.published_at:%-d %b %Y}: {row.note}"


class BatchTermsForm(PageForm):
    """A batch's name, pay, eligibility and instructions."""

    name = forms.CharField(
        max_length=120, label="Name", help_text="Workers see it in the task’s description."
    )
    reward = MoneyField(min_cents=1, label="Reward", help_text="US dollars per submission.")
    bonus = MoneyField(label="Bonus", help_text="US dollars per further complete observation.")
    assignments = forms.IntegerField(min_value=1, max_value=MAX_REDUNDANCY)
    pool = forms.ChoiceField(
        required=False,
        label="Workers",
        choices=[("", "All workers"), *((pool.value, pool_label(pool)) for pool in SELECTABLE_POOLS)],
        widget=forms.RadioSelect,
    )
    where = forms.ChoiceField(
        required=False,
        label="Countries",
        choices=[("", "All"), ("paper", join_country_names(SHERLOCK_COUNTRIES)), ("some", "Only these")],
        widget=forms.RadioSelect,
    )
    countries = forms.CharField(required=False, max_length=2000, label="Which countries")
    worker_limit = forms.IntegerField(
        min_value=1,
        max_value=MAX_WORKER_LIMIT,
        required=False,
        label="Tasks per worker",
        help_text="Maximum number of this batch’s tasks per worker. Empty: no limit.",
    )
    unit_scope = forms.ChoiceField(required=False, widget=forms.RadioSelect)
    budget_cap = BudgetField(
        required=False,
        label="Budget cap",
        help_text="Maximum total cost of this batch in US dollars. Empty: only the project’s cap applies.",
    )
    masters_only = forms.BooleanField(
        required=False,
        label="Masters only",
        help_text="Only workers with the marketplace’s Masters qualification. Their rewards cost a higher fee.",
    )
    instructions = forms.ChoiceField(
        required=False, label="Instructions", help_text="You can change them while the batch runs."
    )

    def __init__(self, kind: HitKind, versions: Sequence[Instructions], *args: Any, **kwargs: Any) -> None:
        initial = {
            "reward": kind.reward_cents,
            "bonus": kind.bonus_cents,
            "assignments": kind.redundancy,
            "instructions": str(versions[0].version) if versions else "",
        }
        kwargs["initial"] = initial | kwargs.get("initial", {})
        super().__init__(*args, **kwargs)
        self.kind = kind
        self._set_unit_labels(kind.unit_word[0])
        self.versions = {str(row.version): row for row in versions}
        instructions_field: Any = self.fields["instructions"]
        instructions_field.choices = [
            *((key, version_label(row)) for key, row in self.versions.items()),
            ("", BUILT_IN_INSTRUCTIONS),
        ]
        if not kind.max_bonus_items:
            del self.fields["bonus"]
        if not current_environment().fees.masters_bp:  # a marketplace without a Masters fee has no Masters
            del self.fields["masters_only"]

    def _set_unit_labels(self, unit: str) -> None:
        """Set labels and help texts with the kind's word for a unit."""
        redundancy_field: Any = self.fields["assignments"]
        unit_scope_field: Any = self.fields["unit_scope"]
        redundancy_field.label = f"Workers per {unit}"
        redundancy_field.help_text = (
            "Number of different workers. "
            f"Above {MAX_ASSIGNMENTS}, each {unit} is published as several tasks: "
            "for 12 workers, one for 9 and one for 3."
        )
        unit_scope_field.label = f"Repeated {unit}"
        unit_scope_field.choices = [
            (value.value, label_format % unit) for value, label_format in UNIT_SCOPE_LABELS.items()
        ]

    def clean_countries(self) -> tuple[str, ...]:
        """Return the codes of the chosen countries; an empty tuple means all."""
        where = self.cleaned_data.get("where")
        if where == "paper":
            return SHERLOCK_COUNTRIES
        if where != "some":
            return ()
        try:
            codes = parse_countries(self.cleaned_data["countries"])
        except ValueError as error:
            raise forms.ValidationError(f"{error}.") from None
        if not codes:
            raise forms.ValidationError("Enter at least one country, such as US, or choose “All”.")
        if len(codes) > MAX_LOCALES:
            raise forms.ValidationError(
                f"{len(codes)} countries; enter at most {MAX_LOCALES}, or choose “All”."
            )
        return codes

    @property
    def eligibility(self) -> Eligibility:
        """Eligibility and instructions; the form must be valid."""
        data = self.cleaned_data
        return build_eligibility(
            pool=Pool(data["pool"]) if data["pool"] else None,
            countries=data["countries"],
            worker_limit=data["worker_limit"],
            instructions=self.versions.get(data["instructions"]),
        )

    @property
    def eligibility_summary(self) -> EligibilitySummary:
        """Labels of the eligibility, as on the batch's page."""
        data = self.cleaned_data
        workers = [pool_label(Pool(data["pool"]))] if data["pool"] else []
        countries = [join_country_names(data["countries"])] if data["countries"] else []
        return summarize_eligibility(workers, countries, data["worker_limit"])

    @property
    def terms(self) -> LaunchTerms:
        """The launch terms; the form must be valid."""
        data = self.cleaned_data
        return LaunchTerms(
            reward_cents=data["reward"],
            bonus_cents=data.get("bonus", 0),
            redundancy=data["assignments"],
            confirmed_cents=typed_cost_cents(self.data),
            eligibility=self.eligibility,
            masters_only=data.get("masters_only", False),
            budget_cap_cents=data["budget_cap"],
            unit_scope=UnitScope(data.get("unit_scope") or UnitScope.BATCH),
        )

    @property
    def unit_scope_label(self) -> str:
        """The label of the chosen unit scope."""
        return UNIT_SCOPE_LABELS[self.terms.unit_scope] % self.kind.unit_word[0]


SELECTION_LABELS = {
    SelectionMethod.ALL: "All",
    SelectionMethod.FIRST: "Only the first",
    SelectionMethod.RANDOM: "Random sample",
    SelectionMethod.NAMED: "Named photos",
}


@dataclass(frozen=True, slots=True)
class PhotoOptions:
    """The photos for a launch: counts, splits, sources, the function that selects some, and the planner's options."""

    unused_count: int
    usable_count: int
    splits: Sequence[tuple[str, int]]
    sources: Sequence[str]
    select: Callable[[ImageSelection], list[int]]
    planner_options: Sequence[PlannerOption] = ()


class LaunchForm(BatchTermsForm):
    """A batch over photos: the selection and the terms. ``selected_ids`` are the photos of a valid form."""

    which = forms.ChoiceField(
        choices=[(method.value, label) for method, label in SELECTION_LABELS.items()],
        widget=forms.RadioSelect,
    )
    first = forms.IntegerField(min_value=1, required=False, label="Number of photos")
    drawn = forms.IntegerField(min_value=1, required=False, label="Number of random photos")
    seed = forms.IntegerField(min_value=0, required=False, label="Seed")
    names = forms.CharField(required=False, widget=forms.Textarea(attrs={"rows": 4}), label="File names")
    split = forms.ChoiceField(required=False, label="Split")
    source = forms.ChoiceField(required=False, label="Source")
    again = forms.BooleanField(required=False, label="Include photos that a batch of this kind already used")

    def __init__(
        self, kind: HitKind, photos: PhotoOptions, versions: Sequence[Instructions], *args: Any, **kwargs: Any
    ) -> None:
        default_count = min(photos.unused_count, 10) or 1
        kwargs["initial"] = {
            "which": "all",
            "first": default_count,
            "drawn": default_count,
            "seed": 1,
        } | kwargs.get("initial", {})
        super().__init__(kind, versions, *args, **kwargs)
        self.photos = photos
        self.selected_ids: list[int] = []
        self._set_or_drop_field("split", [(name, f"{name}, {count} photos") for name, count in photos.splits])
        self._set_or_drop_field("source", [(name, name) for name in photos.sources])
        self.fields |= {option.name: _planner_field(option) for option in photos.planner_options}

    def _set_or_drop_field(self, name: str, choices: list[tuple[str, str]]) -> None:
        if choices:
            self.fields[name].choices = [("", "All"), *choices]  # type: ignore[attr-defined]
        else:
            del self.fields[name]

    def clean(self) -> dict[str, Any]:
        """Select the photos, or add the error to its field."""
        data = super().clean() or {}
        options = {option.name for option in self.photos.planner_options}
        if not ({"which", "first", "drawn", "seed", "split", "source"} | options) & set(self.errors):
            try:
                self.selected_ids = self.photos.select(self.selection)
            except ImageSelectionError as error:
                self.add_error(self._form_field_of(error.field), str(error))
            else:
                if not self.selected_ids:
                    self.add_error(None, self._no_photos_message())
        return data

    def _no_photos_message(self) -> str:
        suggestions = [f"choose another {name}" for name in ("split", "source") if name in self.fields]
        suggestions += ["change the limits"] if self.photos.planner_options else []
        if self.photos.usable_count > self.photos.unused_count and not self.cleaned_data.get("again"):
            suggestions.append("include photos that a batch of this kind already used")
        return f"This selection contains no photo; {', or '.join(suggestions) or 'add photos'}."

    def _form_field_of(self, selection_field: str) -> str:
        if selection_field == "n":
            return "drawn" if self.cleaned_data["which"] == SelectionMethod.RANDOM else "first"
        return selection_field

    @property
    def selection(self) -> ImageSelection:
        """The selection of photos that the form describes."""
        data = self.cleaned_data
        how = SelectionMethod(data["which"])
        return ImageSelection(
            how=how,
            n={SelectionMethod.FIRST: data.get("first"), SelectionMethod.RANDOM: data.get("drawn")}.get(how),
            seed=data.get("seed") if how is SelectionMethod.RANDOM else None,
            names=tuple(filter(None, map(str.strip, data.get("names", "").splitlines())))
            if how is SelectionMethod.NAMED
            else (),
            split=data.get("split", ""),
            source=data.get("source", ""),
            again=data.get("again", False),
            options={
                option.name: data[option.name]
                for option in self.photos.planner_options
                if data.get(option.name) is not None
            },
        )

    @property
    def planner_fields(self) -> list[forms.BoundField]:
        """The fields of the planner's options."""
        return [self[option.name] for option in self.photos.planner_options]

    @property
    def selection_label(self) -> str:
        """The label of the selection for the confirmation page."""
        choice, label = self.selection, SELECTION_LABELS[self.selection.how]
        if choice.how is SelectionMethod.RANDOM:
            label += f", with seed {choice.seed}"
        filters = [f"split {choice.split}"] if choice.split else []
        filters += [f"from {choice.source}"] if choice.source else []
        filters += [
            option.describe(choice.options[option.name])
            for option in self.photos.planner_options
            if option.name in choice.options
        ]
        filters += ["including photos already used"] if choice.again else ["in no batch of this kind"]
        return f"{label}: {', '.join(filters)}"


def _planner_field(option: PlannerOption) -> forms.Field:
    facts: dict[str, Any] = {
        "required": False,
        "initial": option.default,
        "label": option.label,
        "help_text": f"{option.help[0].upper()}{option.help[1:]}.",
    }
    field = (
        forms.IntegerField(min_value=int(option.low), max_value=int(option.high), **facts)
        if option.is_whole
        else forms.FloatField(min_value=option.low, max_value=option.high, **facts)
    )
    field.widget.attrs["class"] = "input"
    return field
