"""What people type on curation pages."""

from collections.abc import Mapping
from typing import Any, ClassVar

from django import forms

from curation.services import JudgesPage, RoundOptions
from curation.services.comparison import DIVERSITIES, PER_PAGE
from curation.services.dedup import LINKAGES
from hits.forms import PageForm
from hits.models import Project
from validation.views.judging_forms import ControlsForm

PERCENT = 100


class DedupForm(PageForm):
    """How a project's photos are clustered."""

    share = forms.IntegerField(
        min_value=1,
        max_value=PERCENT,
        initial=90,
        label="Share kept, %",
        help_text="Photos are merged into so many clusters; one of each stays.",
    )
    linkage = forms.ChoiceField(
        choices=[(name, name.capitalize()) for name in LINKAGES],
        label="Linkage",
        help_text="Distance of two clusters: mean, greatest or least.",
    )
    seed = forms.IntegerField(
        min_value=0, initial=0, label="Seed", help_text="Which photo of a cluster stays is drawn at random."
    )

    @property
    def fraction(self) -> float:
        """The share as 0 to 1; the form has to be valid."""
        return float(self.cleaned_data["share"]) / PERCENT


class RoundForm(PageForm):
    """How comparison sets are built."""

    min_candidates = forms.IntegerField(
        min_value=1,
        max_value=10_000,
        initial=20,
        label="Least candidates",
        help_text="A pair with fewer plausible candidates gets no set. The paper’s floor is 20.",
    )
    size = forms.IntegerField(min_value=2, max_value=20, initial=10, label="Set size")
    max_verbatim = forms.IntegerField(min_value=1, max_value=100, initial=3, label="Copies of one text")
    diversity = forms.ChoiceField(
        choices=[(name, name.capitalize()) for name in DIVERSITIES],
        label="Likeness to the picked",
        help_text="On average, or to the nearest one.",
    )
    seed = forms.IntegerField(min_value=0, initial=0, label="Seed")
    split = forms.ChoiceField(
        required=False, label="Split", help_text="A set never mixes photos of two splits."
    )

    def __init__(self, splits: list[str], *args: Any, **kwargs: Any) -> None:
        super().__init__(*args, **kwargs)
        named = [name for name in splits if name]
        if len(splits) > 1:
            self.fields["split"].choices = [(name, name.capitalize()) for name in named]  # type: ignore[attr-defined]
        else:
            del self.fields["split"]  # nothing to choose

    @property
    def options(self) -> RoundOptions:
        """The options; the form has to be valid."""
        return RoundOptions(**self.cleaned_data)


class ComparisonForm(ControlsForm):
    """What the rating of comparison sets is called and pays, how many of the best are rated, and what judges see."""

    control_help: ClassVar[Mapping[str, str]] = {
        "gold": "Sets whose answer the project agreed on.",
        "attention": "A set with candidates of quite another photo.",
        "repeat": "The same set a second time.",
    }
    units = forms.IntegerField(min_value=1, label="How many")
    show_clue = forms.BooleanField(
        required=False, label="Show the clue", help_text="What the author saw there, in words."
    )
    show_reference = forms.BooleanField(
        required=False,
        label="Show the reference inference",
        help_text="What the author made of it. It is not rated itself, and may lead the eye.",
    )
    per_page = forms.ChoiceField(
        required=False,
        choices=[(number, str(number)) for number in reversed(PER_PAGE)],
        label="Statements per page",
        help_text="Five leave more of a phone to the photo.",
    )

    def __init__(self, kind_name: str, available: int, *args: Any, **kwargs: Any) -> None:
        super().__init__(kind_name, *args, initial={"units": available}, **kwargs)
        self.available = available

    def clean_units(self) -> int:
        """Check the number against what there is."""
        units: int = self.cleaned_data["units"]
        if units > self.available:
            raise forms.ValidationError(f"There are {self.available}; use that or fewer.")
        return units

    @property
    def controls(self) -> int:
        """How many tasks come on top of the sets; the form has to be valid."""
        return self.rates.on_top(self.cleaned_data["units"])

    def estimate(self, project: Project) -> dict[str, Any]:
        """Return what the confirming step shows, controls included; the form has to be valid."""
        return self.costs(project, self.cleaned_data["units"] + self.controls)

    @property
    def page(self) -> JudgesPage:
        """What judges see; the form has to be valid."""
        given = self.cleaned_data
        per_page = int(given["per_page"] or PER_PAGE[-1])
        return JudgesPage(clue=given["show_clue"], reference=given["show_reference"], per_page=per_page)


class VersionForm(PageForm):
    """A new draft."""

    name = forms.RegexField(
        r"^[A-Za-z0-9][A-Za-z0-9._-]*$",
        max_length=40,
        label="Name",
        help_text="For instance v1.0",
        error_messages={"invalid": "Use letters, digits, dots and hyphens, such as v1.0."},
    )
    note = forms.CharField(max_length=400, required=False, label="What it is for")
