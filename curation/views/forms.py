"""Forms of curation pages."""

from collections.abc import Mapping, Sequence
from dataclasses import asdict
from types import MappingProxyType
from typing import Any, ClassVar

from django import forms

from curation.features.encoder import DEFAULT_ENCODER, POOLED_ENCODER
from curation.models import Source
from curation.negatives.candidate_floor import MIN_CANDIDATES
from curation.negatives.options import MAX_VERBATIM, SET_SIZE
from curation.selectors.round_sets import SetOrder
from curation.selectors.scorers import SCORER_PREFIX
from curation.services.comparison import PAGE_SIZES, JudgePageOptions, RoundOptions
from curation.services.dedup import near_copy_distance
from curation.services.sources import SOURCE_TITLES
from curation.views.features import ENCODER_LABELS, FOLDER_HELP, PUBLISHED_CLIP
from curation.views.fields import checkbox, choice_field, float_field, integer_field, text_field
from curation.views.rule_labels import DEDUP_KEEPS, DEDUP_LINKAGES, RULES, RuleLabels
from hits.forms import PageForm
from hits.models import Project
from validation.views.judging_forms import QualityChecksForm

PERCENT = 100


def encoder_field(
    offered: Sequence[str],
    used: Sequence[str],
    help_text: str,
    scorers: Mapping[str, str] = MappingProxyType({}),
) -> forms.ChoiceField:
    """Return a field for choosing an encoder, the first by default.

    Args:
        offered: suitable ones of ``ENCODER_LABELS``. used: names already used in the project, including folders; new
            folders can only be given on the command line. scorers: the project's own, by name.
    """
    choices = {name: ENCODER_LABELS[name] for name in offered} | dict(scorers)
    choices |= {n: n for n in used if n not in ENCODER_LABELS and not n.startswith(SCORER_PREFIX)}
    field = forms.ChoiceField(
        required=False,
        label="Encoder",
        choices=list(choices.items()),
        help_text=f"{help_text} {FOLDER_HELP}",
    )
    field.widget.attrs["class"] = "input"
    return field


class DedupForm(PageForm):
    """Options of a de-duplication: which photos, how to cluster them, and which to keep."""

    source = choice_field(
        "Photos",
        help_text="Hessel et al. (2022) clustered Visual Genome only. Marks of other photos are kept.",
        required=False,
    )
    cuts: ClassVar[Mapping[str, str]] = {"distance": "distance", "share": "fraction", "clusters": "clusters"}
    cut = choice_field(
        "Merge until", [(name, name.capitalize()) for name in cuts], required=False, widget=forms.RadioSelect
    )
    share = float_field(
        "Photos to keep, %",
        "The other photos are set aside, however different they are. Hessel et al. (2022) kept 80K of 108K, 74%.",
        low=0.1,
        high=PERCENT,
        required=False,
    )
    clusters = integer_field(
        "Number of photos to keep", "The other photos are set aside.", low=1, required=False
    )
    distance = float_field(
        "Cosine distance",
        "Photos at most this far apart (1 − cosine) form a group. Leave empty for near copies only: "
        f"{near_copy_distance(POOLED_ENCODER):g} with EfficientNet-lite0, {near_copy_distance(PUBLISHED_CLIP):g} "
        "with CLIP. With the linkage Ward, the number is the height of a merge: for two photos, the square root of "
        "twice their distance.",
        low=0,
        required=False,
    )
    linkage = choice_field("Linkage", DEDUP_LINKAGES, "The distance between two clusters.")
    keep = choice_field("Photo to keep", DEDUP_KEEPS, required=False)
    seed = integer_field("Seed", "For the random choice of the photo to keep.", low=0, initial=0)
    encoders: ClassVar[Sequence[str]] = (POOLED_ENCODER, PUBLISHED_CLIP)

    def __init__(
        self,
        *args: Any,
        used: Sequence[str] = (),
        sources: Mapping[str, int] | None = None,
        last_options: Mapping[str, Any] | None = None,
        **kwargs: Any,
    ) -> None:
        """Set up the choices from ``used`` encoders, photo counts by ``sources``, and the ``last_options``."""
        initial = _initial_from_options(last_options or {})
        super().__init__(*args, initial=initial, **kwargs)
        if sources:
            named = [(name, f"{SOURCE_TITLES[Source(name)]}: {count:,}") for name, count in sources.items()]
            self.fields["source"].choices = [("", "All photos"), *named]  # type: ignore[attr-defined]
        else:
            del self.fields["source"]  # nothing to choose
        self.fields["encoder"] = encoder_field(self.encoders, used, "The model that compares photos.")
        for name in self.cuts:  # the radio button's label names the choice, this one the number next to it
            self.fields[name].widget.attrs["aria-label"] = self.fields[name].label
        self.chosen_cut = (self.data.get("cut") if self.is_bound else initial.get("cut")) or "distance"

    def clean(self) -> dict[str, Any]:
        """Require the value of the chosen stopping criterion; a distance has a default."""
        given = super().clean() or self.cleaned_data
        given["cut"] = given.get("cut") or "distance"
        is_missing = given.get(given["cut"]) is None and given["cut"] not in self.errors
        if is_missing and given["cut"] != "distance":
            self.add_error(given["cut"], "Enter a number here, or choose another option.")
        return given

    @property
    def cut_fields(self) -> list[tuple[str, forms.BoundField]]:
        """The stopping criteria of clustering, each with its field."""
        return [(name, self[name]) for name in self.cuts]

    @property
    def options(self) -> dict[str, Any]:
        """Return the arguments of ``DedupOptions``; the form must be valid."""
        given = self.cleaned_data
        value = given[given["cut"]]
        chosen = {self.cuts[given["cut"]]: value / PERCENT if given["cut"] == "share" else value}
        return chosen | {
            "linkage": given["linkage"],
            "keep": given["keep"] or next(iter(DEDUP_KEEPS)),
            "seed": given["seed"],
            "encoder": given["encoder"],
            "source": given.get("source", ""),
        }


def _initial_from_options(last: Mapping[str, Any]) -> dict[str, Any]:
    """Return initial values of a ``DedupForm`` from an earlier run's options; a default distance is left empty."""
    if not last:
        return {}
    initial = {name: last.get(name) for name in ("linkage", "keep", "seed", "encoder", "source", "clusters")}
    distance = last.get("distance")
    if distance is not None and distance != near_copy_distance(last["encoder"], last["linkage"]):
        initial["distance"] = distance
    if last.get("fraction") is not None:
        initial["share"] = _int_if_whole(round(PERCENT * last["fraction"], 6))
    cut = next((cut for cut, name in DedupForm.cuts.items() if last.get(name) is not None), "")
    return {name: value for name, value in initial.items() if value is not None} | {"cut": cut}


class RoundForm(PageForm):
    """Options of a comparison round: the basic settings, and every ambiguous rule of Hessel et al. 2022 §E."""

    basic_fields = ("min_candidates", "split", "size", "max_verbatim", "diversity", "seed")
    encoders: ClassVar[Sequence[str]] = (DEFAULT_ENCODER, PUBLISHED_CLIP)
    min_candidates = integer_field(
        "Minimum candidates",
        "Pairs with fewer plausible candidates get no set. The minimum of Hessel et al. (2022) is 20.",
        low=1,
        high=10_000,
        initial=MIN_CANDIDATES,
    )
    size = integer_field("Set size", low=2, high=20, initial=SET_SIZE)
    max_verbatim = integer_field("Maximum copies", "Of one text.", low=1, high=100, initial=MAX_VERBATIM)
    seed = integer_field("Seed", low=0, initial=0)
    split = choice_field("Split", help_text="A set never mixes photos of two splits.", required=False)

    def __init__(
        self,
        splits: list[str],
        *args: Any,
        used: Sequence[str] = (),
        scorers: Mapping[str, str] = MappingProxyType({}),
        **kwargs: Any,
    ) -> None:
        super().__init__(*args, **kwargs)
        meaning = "The model that measures plausibility."
        self.fields["encoder"] = encoder_field(self.encoders, used, meaning, scorers)
        named = [name for name in splits if name]
        if len(splits) > 1:
            self.fields["split"].choices = [(name, name.capitalize()) for name in named]  # type: ignore[attr-defined]
        else:
            del self.fields["split"]  # nothing to choose
        defaults = asdict(RoundOptions())
        self.option_names = [name for name in RULES if name in defaults and name not in self.basic_fields]
        for name, rule in RULES.items():
            if name in defaults:
                self.fields[name] = _rule_field(name, rule, defaults[name])

    @property
    def option_fields(self) -> list[forms.BoundField]:
        """The collapsed fields."""
        return [self[name] for name in self.option_names]

    @property
    def shows_options(self) -> bool:
        """Whether a collapsed field was changed or has an error."""
        changed = {*self.errors, *self.changed_data}
        return self.is_bound and not changed.isdisjoint(self.option_names)

    @property
    def options(self) -> RoundOptions:
        """Return the options, with defaults for empty fields; the form must be valid."""
        given = {
            name: value
            for name, value in self.cleaned_data.items()
            if value not in (None, "") and name != "encoder"
        }
        if "soft_share" in given:
            given["soft_share"] /= PERCENT
        return RoundOptions(**given)

    @property
    def encoder(self) -> str:
        """The encoder of plausibility, empty for the default; the form must be valid."""
        name: str = self.cleaned_data["encoder"]
        return name


def _int_if_whole(number: float) -> float:
    """Return a number without a trailing ``.0``."""
    return int(number) if number == int(number) else number


def _rule_field(name: str, rule: RuleLabels, default: Any) -> forms.Field:
    """Return a rule's field; an empty value means the default."""
    field_options: dict[str, Any] = {"required": False, "label": rule.label, "help_text": rule.help_text}
    field: forms.Field
    if rule.choices:
        texts = rule.choices.items()
        choices = [(value, f"{text} (default)" if value == default else text) for value, text in texts]
        field = forms.ChoiceField(choices=choices, initial=str(default), **field_options)
    elif name == "soft_share":
        field = forms.FloatField(
            min_value=0.1, max_value=PERCENT, initial=_int_if_whole(PERCENT * default), **field_options
        )
    else:
        field = forms.FloatField(min_value=0, initial=_int_if_whole(default), **field_options)
    field.widget.attrs["class"] = "input"
    return field


class SetFilterForm(PageForm):
    """Filters of a round's sets; invalid values are ignored."""

    q = text_field("Containing", required=False, max_length=200)
    split = choice_field("Split", required=False)
    order = choice_field(
        "Order",
        [
            (SetOrder.HIGHEST_FIRST, "Highest set score first"),
            (SetOrder.LOWEST_FIRST, "Lowest set score first"),
            (SetOrder.FEWEST_CANDIDATES, "Fewest candidates first"),
        ],
        required=False,
    )
    set = integer_field("Go to set", low=1, required=False)

    def __init__(self, splits: list[str], *args: Any, **kwargs: Any) -> None:
        super().__init__(*args, auto_id="sets_%s", **kwargs)
        if len(splits) > 1:
            self.fields["split"].choices = [("", "All"), *((name, name.capitalize()) for name in splits)]  # type: ignore[attr-defined]
        else:
            del self.fields["split"]
        self.is_valid()

    @property
    def filters(self) -> dict[str, Any]:
        """The keyword arguments of ``round_sets.find_sets``."""
        given = self.cleaned_data
        order = SetOrder(given.get("order") or SetOrder.HIGHEST_FIRST)
        return {"text": given.get("q", ""), "split": given.get("split", ""), "order": order}

    @property
    def is_filtered(self) -> bool:
        """Whether a filter may hide some sets."""
        return bool(self.cleaned_data.get("q") or self.cleaned_data.get("split"))

    @property
    def target_rank(self) -> int | None:
        """The rank of the set to show."""
        rank: int | None = self.cleaned_data.get("set")
        return rank


class RoundLaunchForm(QualityChecksForm):
    """Launch options of a comparison round: name, pay, number of sets, and what judges see."""

    check_help: ClassVar[Mapping[str, str]] = {
        "gold": "Sets with a known, agreed answer.",
        "attention": "A set with candidates of an unrelated photo.",
        "repeat": "The same set again.",
    }
    units = integer_field("Sets to launch", low=1)
    show_clue = checkbox("Show the clue", "What the pair’s author saw in the region.")
    show_reference = checkbox(
        "Show the reference inference",
        "What the pair’s author concluded. Judges do not rate it, but it may influence them.",
    )
    per_page = choice_field(
        "Candidates per page",
        [(number, str(number)) for number in reversed(PAGE_SIZES)],
        "Five leave more room for the photo on a phone.",
        required=False,
    )

    def __init__(self, kind_name: str, available_sets: int, *args: Any, **kwargs: Any) -> None:
        super().__init__(kind_name, *args, initial={"units": available_sets}, **kwargs)
        self.available_sets = available_sets

    def clean_units(self) -> int:
        """Check that there are enough sets."""
        units: int = self.cleaned_data["units"]
        if units > self.available_sets:
            raise forms.ValidationError(f"There are {self.available_sets} sets; use that number or fewer.")
        return units

    @property
    def check_count(self) -> int:
        """The number of quality checks added to the sets; the form must be valid."""
        return self.rates.total(self.cleaned_data["units"])

    def estimate(self, project: Project) -> dict[str, Any]:
        """Return the cost estimate, including quality checks; the form must be valid."""
        return self.confirm_context(project, self.cleaned_data["units"] + self.check_count)

    @property
    def judge_page_options(self) -> JudgePageOptions:
        """What judges see; the form must be valid."""
        given = self.cleaned_data
        per_page = int(given["per_page"] or PAGE_SIZES[-1])
        return JudgePageOptions(clue=given["show_clue"], reference=given["show_reference"], per_page=per_page)


class VersionForm(PageForm):
    """A new draft."""

    name = forms.RegexField(
        r"^[A-Za-z0-9][A-Za-z0-9._-]*$",
        max_length=40,
        label="Name",
        help_text="For example v1.0",
        error_messages={"invalid": "Use letters, digits, dots and hyphens, such as v1.0."},
    )
    note = text_field("Purpose", max_length=400, required=False)
