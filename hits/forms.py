"""What people type on console pages, checked before a service sees it."""

from collections.abc import Mapping
from typing import Any

from django import forms
from django.contrib.auth import get_user_model
from django.contrib.auth.models import AbstractBaseUser

from hits.domain.money import format_usd, parse_usd
from hits.domain.states import Role
from hits.kind import HitKind
from hits.services.launch import MAX_ASSIGNMENTS, MOST_CENTS, Terms


class PageForm(forms.Form):
    """A form whose widgets look as the design's fields, and which marks what is wrong."""

    def __init__(self, *args: Any, **kwargs: Any) -> None:
        super().__init__(*args, **kwargs)
        self.label_suffix = ""
        for field in self.fields.values():
            if not isinstance(field.widget, forms.CheckboxInput | forms.RadioSelect):
                field.widget.attrs["class"] = "input"


class MoneyField(forms.CharField):
    """An amount in US dollars, kept as integer cents."""

    def __init__(self, *, least: int = 0, **kwargs: Any) -> None:
        super().__init__(max_length=12, **kwargs)
        self.least = least
        self.widget.attrs |= {"inputmode": "decimal", "autocomplete": "off"}

    def prepare_value(self, value: Any) -> Any:
        """Show cents as dollars; keep what was typed as it is."""
        return format_usd(value) if isinstance(value, int) else value

    def clean(self, value: Any) -> int:
        """Return cents."""
        text = str(super().clean(value)).strip().removeprefix("$")
        try:
            cents = parse_usd(text)
        except ValueError:
            raise forms.ValidationError("Use whole cents, such as 0.46.") from None
        if cents < self.least:
            raise forms.ValidationError("Pay at least one cent.")
        if cents > MOST_CENTS:
            raise forms.ValidationError("That is more than $1,000.00 for one task; check the decimal point.")
        return cents


class ProjectForm(PageForm):
    """A new project."""

    name = forms.CharField(
        max_length=120, help_text="For instance “Street scenes”. It appears on every page."
    )
    is_rehearsal = forms.BooleanField(
        required=False,
        label="This is a rehearsal",
        help_text="For practice and scripts. What is collected is never exported as real data.",
    )


class MemberForm(PageForm):
    """Somebody who shall work on the project."""

    username = forms.CharField(max_length=150, label="User name")
    role = forms.ChoiceField(
        choices=[(Role.RESEARCHER.value, "Researcher"), (Role.ADMIN.value, "Admin")],
        initial=Role.RESEARCHER.value,
    )
    user: AbstractBaseUser

    def clean_username(self) -> str:
        """Find the account."""
        name = str(self.cleaned_data["username"]).strip()
        found = get_user_model().objects.filter(username=name, is_active=True).first()
        if found is None:
            raise forms.ValidationError(
                f"There is no account called {name}. Whoever runs this server makes one with "
                f"“manage.py create_member {name} --project …”."
            )
        self.user = found
        return name


class ConsentForm(PageForm):
    """A new version of the consent text."""

    body = forms.CharField(
        max_length=20_000,
        label="Text",
        widget=forms.Textarea(attrs={"rows": 14}),
        help_text="Markdown: blank lines make paragraphs, “- ” makes a list, **two stars** make bold.",
    )


LONGEST_KEY = 64


def launch_key(data: Mapping[str, Any]) -> str:
    """Return the name of this wish to launch: the confirming page gave it out, a second press repeats it."""
    return str(data.get("launch_key", ""))[:LONGEST_KEY]


def typed_cost(data: Mapping[str, Any]) -> int | None:
    """Return the cents that a person typed to confirm a launch on a live marketplace; ``None`` without."""
    try:
        return parse_usd(str(data.get("typed_cost", "")).strip().removeprefix("$").replace(",", ""))
    except ValueError:
        return None


class LaunchForm(PageForm):
    """What a batch is called, pays and shows."""

    name = forms.CharField(
        max_length=120, label="Name", help_text="Workers read it in the task’s description."
    )
    reward = MoneyField(least=1, label="Reward", help_text="US dollars for each submission.")
    bonus = MoneyField(label="Bonus", help_text="US dollars for each further complete observation.")
    assignments = forms.IntegerField(
        min_value=1, max_value=MAX_ASSIGNMENTS, label="Workers per photo", help_text="Different people each."
    )
    which = forms.ChoiceField(choices=[("all", "All"), ("first", "Only the first")], widget=forms.RadioSelect)
    first = forms.IntegerField(min_value=1, required=False, label="How many")

    def __init__(self, kind: HitKind, available: int, *args: Any, **kwargs: Any) -> None:
        kwargs.setdefault(
            "initial",
            {
                "reward": kind.reward_cents,
                "bonus": kind.bonus_cents,
                "assignments": kind.assignments_per_hit,
                "which": "all",
                "first": min(available, 10) or 1,
            },
        )
        super().__init__(*args, **kwargs)
        self.available = available
        if not kind.max_bonus_items:
            del self.fields["bonus"]

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
            assignments_per_hit=data["assignments"],
            confirmed_cents=typed_cost(self.data),
        )
