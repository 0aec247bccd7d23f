"""Forms of a project's settings for image triplets; each one changes its own part."""

import re
from collections.abc import Mapping
from typing import Any

from django import forms

from curation.image_triplets.quotas import ANY, MAX_TARGET
from curation.models import TripletSettings
from curation.models.scenes import MAX_READERS
from curation.selectors.triplets.settings import offered_domains
from curation.services.triplets.settings import MAX_LICENCE, MAX_PRICES, SettingsChange
from curation.views.fields import checkbox, choice_field, integer_field, text_field
from curation.views.triplets.labels import CATEGORY_LABELS, CELL_LABELS
from hits.forms import PageForm
from hits.services.errors import Refused

MAX_GENERATOR = 200
MAX_DOMAINS_TEXT = 5_000
_SECTION_PATTERN = re.compile(r'(images|chat)\."[^"]+"')
_READERS = [
    ("1", "One reader decides about each scene"),
    (str(MAX_READERS), "Two readers decide; neither sees the other’s verdict before giving one"),
]


class SettingsForm(PageForm):
    """One part of the settings."""

    part = ""
    field_of_setting: Mapping[str, str] = {}  # of a refusal, where it is not the field's own name

    def __init__(self, row: TripletSettings, *args: Any, **kwargs: Any) -> None:
        super().__init__(*args, auto_id=f"{self.part}_%s", **kwargs)
        self.row = row

    @property
    def change(self) -> SettingsChange:
        """What changes; the form must be valid."""
        raise NotImplementedError

    def add_refusal(self, error: Refused) -> None:
        """Show a refusal at the field that it is about."""
        text = str(error).rstrip(".")
        name = next(iter(self.fields))
        self.add_error(name, f"{text[0].upper()}{text[1:]}.")


class ReadersForm(SettingsForm):
    """How many readers decide about a scene, and whether versions keep answers back."""

    part = "readers"
    readers = choice_field("Readers", _READERS, widget=forms.RadioSelect)
    holds_answers = checkbox("Versions keep gold, texts and explanations back, for a leaderboard")

    def __init__(self, row: TripletSettings, *args: Any, **kwargs: Any) -> None:
        initial = {"readers": str(row.readers), "holds_answers": row.holds_answers}
        super().__init__(row, *args, initial=initial, **kwargs)

    @property
    def change(self) -> SettingsChange:
        """The readers, and whether answers are held."""
        given = self.cleaned_data
        return SettingsChange(readers=int(given["readers"]), holds_answers=given["holds_answers"])


class DomainsForm(SettingsForm):
    """The domains that writers choose from."""

    part = "domains"
    domains = text_field(
        "Domains",
        "One a line. Empty: the built-in ones.",
        required=False,
        max_length=MAX_DOMAINS_TEXT,
        widget=forms.Textarea({"rows": 8}),
    )

    def __init__(self, row: TripletSettings, *args: Any, **kwargs: Any) -> None:
        super().__init__(row, *args, initial={"domains": "\n".join(offered_domains(row))}, **kwargs)

    @property
    def change(self) -> SettingsChange:
        """The domains."""
        return SettingsChange(domains=self.cleaned_data["domains"].splitlines())


class TargetsForm(SettingsForm):
    """How many scenes are wanted of each category, at each time or at any."""

    part = "targets"

    def __init__(self, row: TripletSettings, *args: Any, **kwargs: Any) -> None:
        initial = {
            _target_name(category, cell): number
            for category, cells in row.targets.items()
            for cell, number in cells.items()
        }
        super().__init__(row, *args, initial=initial, **kwargs)
        for category, category_label in CATEGORY_LABELS.items():
            for cell, cell_label in self.columns:
                field = integer_field(
                    f"{category_label}, {cell_label.lower()}", low=0, high=MAX_TARGET, required=False
                )
                field.widget.attrs |= {"class": "input", "aria-label": field.label}
                self.fields[_target_name(category, cell)] = field

    columns = (*CELL_LABELS.items(), (ANY, "At any time"))

    @property
    def rows(self) -> list[tuple[str, list[tuple[str, forms.BoundField]]]]:
        """The fields of each category with the labels of their columns."""
        return [
            (label, [(column, self[_target_name(category, cell)]) for cell, column in self.columns])
            for category, label in CATEGORY_LABELS.items()
        ]

    @property
    def change(self) -> SettingsChange:
        """The targets; an empty field asks for no number."""
        targets = {
            category: {
                cell: number
                for cell, _ in self.columns
                if (number := self.cleaned_data[_target_name(category, cell)]) is not None
            }
            for category in CATEGORY_LABELS
        }
        return SettingsChange(targets={category: cells for category, cells in targets.items() if cells})


def _target_name(category: str, cell: str) -> str:
    return f"{category}_{cell or 'any'}"


class PricesForm(SettingsForm):
    """The price table of generators and chat models."""

    part = "prices"
    prices = text_field(
        "Price table",
        "TOML, in US dollars. A model without a price is refused, unless a run accepts that.",
        required=False,
        max_length=MAX_PRICES,
        strip=False,
        widget=forms.Textarea({"rows": 12, "spellcheck": "false", "class": "input code"}),
    )

    def __init__(self, row: TripletSettings, *args: Any, **kwargs: Any) -> None:
        super().__init__(row, *args, initial={"prices": row.prices}, **kwargs)
        self.fields["prices"].widget.attrs["class"] = "input code"

    @property
    def change(self) -> SettingsChange:
        """The table."""
        return SettingsChange(prices=self.cleaned_data["prices"].replace("\r\n", "\n"))

    def add_refusal(self, error: Refused) -> None:
        """Show a refusal with the line of the section that it names; errors of TOML name their line themselves."""
        text = str(error).rstrip(".").removeprefix("prices.toml, ").removeprefix("prices.toml: ")
        found = _SECTION_PATTERN.search(text)
        lines = self.cleaned_data.get("prices", "").splitlines()
        numbers = [number for number, line in enumerate(lines, 1) if found and f"[{found[0]}" in line]
        where = f"Line {numbers[0]}: " if numbers else ""
        self.add_error("prices", f"{where}{text if where else text[0].upper() + text[1:]}.")


class LicencesForm(SettingsForm):
    """The licences of generators' images: those that are known, and one more."""

    part = "licences"
    generator = text_field(
        "Generator", "For example openai:gpt-image-1.", required=False, max_length=MAX_GENERATOR
    )
    licence = text_field("Licence", "Or unknown.", required=False, max_length=MAX_LICENCE)

    def __init__(self, row: TripletSettings, used: list[str], *args: Any, **kwargs: Any) -> None:
        self.names = sorted({*row.licences, *used})
        initial = {f"licence_{index}": row.licences.get(name, "") for index, name in enumerate(self.names)}
        super().__init__(row, *args, initial=initial, **kwargs)
        for index, name in enumerate(self.names):
            field = text_field(name, required=False, max_length=MAX_LICENCE)
            field.widget.attrs["class"] = "input"
            self.fields[f"licence_{index}"] = field

    @property
    def known_fields(self) -> list[forms.BoundField]:
        """The generators that have a licence or were used."""
        return [self[f"licence_{index}"] for index in range(len(self.names))]

    def clean(self) -> dict[str, Any]:
        """Require both or none of a new generator and its licence; a stored licence cannot be emptied."""
        given: dict[str, Any] = super().clean() or {}
        if given.get("licence") and not given.get("generator"):
            self.add_error("generator", "Name the generator whose licence this is.")
        if given.get("generator") and not given.get("licence"):
            self.add_error("licence", "Write the licence, or unknown.")
        for index, name in enumerate(self.names):
            if name in self.row.licences and not given.get(f"licence_{index}"):
                self.add_error(f"licence_{index}", "Write the licence, or unknown.")
        return given

    @property
    def change(self) -> SettingsChange:
        """The licences that were typed."""
        given = self.cleaned_data
        licences = {name: given[f"licence_{index}"] for index, name in enumerate(self.names)}
        licences |= {given["generator"].strip(): given["licence"]} if given["generator"] else {}
        return SettingsChange(licences={name: licence for name, licence in licences.items() if licence})


class UnknownLicenceForm(SettingsForm):
    """Whether images of unknown licence may enter a version; for admins."""

    part = "unknown"
    allows_unknown_licence = checkbox("Images of unknown licence may enter versions")

    def __init__(self, row: TripletSettings, *args: Any, **kwargs: Any) -> None:
        initial = {"allows_unknown_licence": row.unknown_licence_allowed_by_id is not None}
        super().__init__(row, *args, initial=initial, **kwargs)

    @property
    def change(self) -> SettingsChange:
        """Whether it is allowed."""
        return SettingsChange(allows_unknown_licence=self.cleaned_data["allows_unknown_licence"])
