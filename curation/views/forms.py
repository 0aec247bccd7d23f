"""What people type on curation pages."""

from typing import Any

from django import forms

from curation.services import RoundOptions
from curation.services.comparison import DIVERSITIES
from curation.services.dedup import LINKAGES
from hits.forms import PageForm

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
