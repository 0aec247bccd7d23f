"""Forms of projects, members and consent texts."""

from typing import Any

from django import forms
from django.contrib.auth import get_user_model
from django.contrib.auth.models import AbstractBaseUser

from hits.domain.states import Role
from hits.forms.fields import PageForm
from hits.registry import family_names
from hits.services.projects import DEFAULT_FAMILY


class ProjectForm(PageForm):
    """A new project."""

    name = forms.CharField(max_length=120, help_text="For example “Street scenes”. Every page shows it.")
    short_name = forms.CharField(
        max_length=60,
        required=False,
        label="Short name",
        help_text="Used in addresses and commands, for example street-scenes. Empty: derived from the name.",
    )
    is_rehearsal = forms.BooleanField(
        required=False,
        label="This is a rehearsal",
        help_text="For practice and scripts. Its data is never exported as real data.",
    )
    family = forms.ChoiceField(
        required=False,
        label="Dataset family",
        help_text="Contents and export format of the versions. You can change the family until a version exists.",
    )

    def __init__(self, *args: Any, **kwargs: Any) -> None:
        super().__init__(*args, **kwargs)
        families = family_names()
        field: Any = self.fields["family"]
        field.choices = [(name, name) for name in families]
        field.initial = DEFAULT_FAMILY
        if len(families) == 1:
            del self.fields["family"]

    def clean_family(self) -> str:
        """Use the default family if none was chosen."""
        return self.cleaned_data["family"] or DEFAULT_FAMILY


class MemberForm(PageForm):
    """A new member of the project."""

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
                f"There is no account called {name}. The server’s administrator can create one with "
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
        help_text="Markdown: blank lines separate paragraphs, “- ” starts a list item, **bold**.",
    )
