"""Forms about image triplets: filter, check of facets and images, gold explanation, decision."""

from collections.abc import Mapping, Sequence
from typing import Any

from django import forms

from curation.models import TripletVerdict
from curation.selectors.triplets.settings import offered_domains, triplet_settings
from curation.selectors.triplets.triplets import IMAGE_ROLES, Facets, TripletFacts, TripletState
from curation.services.triplets.triplets import MAX_EXPLANATION, MAX_NOTE
from curation.views.triplets.labels import CATEGORY_LABELS, domain_label
from curation.views.triplets.triplet_parts import ALIGNMENT_LABELS, STATE_LABELS
from curation.views.triplets.triplet_sealing import ROLE_LABELS, facets_changed
from hits.domain.answers.evidence import humanize
from hits.domain.answers.scene_facets import DIRECTIONS, DURATIONS
from hits.forms import PageForm
from hits.services.errors import Refused

AGAINST, UNDECIDED = "against", "undecided"
VOTE_LABELS = {
    AGAINST: "Against gold",
    UNDECIDED: "Against gold, not decided",
    "with": "For gold",
    "none": "No answers",
}


class TripletFilterForm(PageForm):
    """The triplets that the list shows."""

    state = forms.ChoiceField(
        required=False,
        label="State",
        choices=[("", "All states"), *((state.value, label) for state, label in STATE_LABELS.items())],
    )
    category = forms.ChoiceField(
        required=False, label="Category", choices=[("", "All categories"), *CATEGORY_LABELS.items()]
    )
    votes = forms.ChoiceField(required=False, label="Majority", choices=[("", "All"), *VOTE_LABELS.items()])
    changed = forms.BooleanField(required=False, label="Facets changed")

    def matches(self, row: TripletFacts) -> bool:
        """Whether a triplet is shown; unknown values filter nothing."""
        given = self.cleaned_data if self.is_valid() else {}
        votes = given.get("votes", "")
        return (
            (not given.get("state") or row.state is TripletState(given["state"]))
            and (not given.get("category") or row.facets.category == given["category"])
            and (votes != AGAINST or row.is_against_gold)
            and (votes != UNDECIDED or row.needs_decision)
            and (votes != "with" or (bool(row.majority) and row.majority == row.triplet.gold_label))
            and (votes != "none" or not row.answers)
            and (not given.get("changed") or facets_changed(row))
        )

    @property
    def is_active(self) -> bool:
        """Whether the form filters something."""
        return any(self.data.get(name) for name in self.fields)


class CheckForm(PageForm):
    """A triplet's facets, and whether each image shows its text. ``seen`` is the newest check that was shown."""

    category = forms.ChoiceField(label="Category", choices=list(CATEGORY_LABELS.items()))
    direction = forms.ChoiceField(label="Direction", choices=[(name, humanize(name)) for name in DIRECTIONS])
    duration = forms.ChoiceField(
        required=False,
        label="Duration",
        choices=[("", "None"), *((name, humanize(name)) for name in DURATIONS)],
    )
    domain = forms.ChoiceField(label="Domain")
    note = forms.CharField(required=False, label="Note", max_length=MAX_NOTE)
    seen = forms.IntegerField(min_value=0)

    def __init__(self, facts: TripletFacts, *args: Any, **kwargs: Any) -> None:
        facets = facts.facets
        alignment: Mapping[str, str] = facts.check.alignment if facts.check else {}
        initial = {name: getattr(facets, name) for name in ("category", "direction", "duration", "domain")}
        initial |= {f"alignment_{role}": alignment.get(role, "") for role in IMAGE_ROLES}
        super().__init__(*args, initial=initial, auto_id="check_%s", **kwargs)
        offered = offered_domains(triplet_settings(facts.triplet.project))
        domains = list(dict.fromkeys([*offered, facets.domain]))
        self.fields["domain"].choices = [(name, domain_label(name)) for name in domains]  # type: ignore[attr-defined]
        for role in IMAGE_ROLES:
            self.fields[f"alignment_{role}"] = forms.ChoiceField(
                label=ROLE_LABELS[role], choices=list(ALIGNMENT_LABELS.items()), widget=forms.RadioSelect
            )

    @property
    def alignment_fields(self) -> list[forms.BoundField]:
        """The question about each image."""
        return [self[f"alignment_{role}"] for role in IMAGE_ROLES]

    @property
    def facets(self) -> Facets:
        """The facets; the form must be valid."""
        data = self.cleaned_data
        return Facets(data["category"], data["direction"], data["duration"], data["domain"])

    @property
    def alignment(self) -> dict[str, str]:
        """The answer about each image; the form must be valid."""
        return {role: self.cleaned_data[f"alignment_{role}"] for role in IMAGE_ROLES}


class GoldForm(PageForm):
    """A gold explanation. ``seen`` is the newest one that the page showed."""

    text = forms.CharField(
        label="Why the gold hypothesis is more plausible",
        max_length=MAX_EXPLANATION,
        widget=forms.Textarea({"rows": 3}),
    )
    seen = forms.IntegerField(min_value=0)

    def __init__(self, *args: Any, **kwargs: Any) -> None:
        super().__init__(*args, auto_id="gold_%s", **kwargs)


class DecisionForm(PageForm):
    """A decision about a triplet. ``seen`` is the newest decision that the page showed."""

    verdict = forms.ChoiceField(choices=[(verdict.value, verdict.value) for verdict in TripletVerdict])
    note = forms.CharField(
        required=False, label="Note", max_length=MAX_NOTE, widget=forms.Textarea({"rows": 2})
    )
    seen = forms.IntegerField(min_value=0)

    def __init__(self, *args: Any, **kwargs: Any) -> None:
        super().__init__(*args, auto_id="decision_%s", **kwargs)


def add_refusal(form: forms.Form, error: Refused, names: Sequence[str] = ("note", "duration")) -> None:
    """Add a refusal to the field that its message names, or else to the whole form."""
    name, _, reason = str(error).partition(": ")
    is_named = name in names and name in form.fields
    text = f"{reason[:1].upper()}{reason[1:].rstrip('.')}." if is_named else f"Not stored: {error}."
    form.add_error(name if is_named else None, text)
